package informer_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/lazy"
	"github.com/relist-go/relist/listwatch/lazy/zstd"
	"github.com/relist-go/relist/store"
	"github.com/relist-go/relist/transport"
)

type lazySettings = lazy.Object[*settings]

var (
	settingsResource = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	settingsData     = lazy.At[map[string]string]("data")
)

// lazyResource is a server, and its ConfigMaps as lazy objects.
func lazyResource(t *testing.T, opts lazy.Options, of listwatch.Options[*lazySettings]) (*apitest.Server, *listwatch.Client[*lazySettings]) {
	t.Helper()
	server, listener := apitest.StartInMemory(t, apitest.Options{})
	client, err := transport.NewClient(transport.Config{Server: listener.URL, Dial: listener.Dial})
	must.OK(t, err)
	t.Cleanup(client.Close)
	if of.Encoding, err = lazy.New[*settings](opts); err != nil {
		t.Fatal(err)
	}
	resource, err := listwatch.New(client, settingsResource, of)
	must.OK(t, err)
	return server, resource
}

func createSettings(t *testing.T, server *apitest.Server, name, value string) {
	t.Helper()
	obj := map[string]any{"metadata": map[string]any{"namespace": "shop", "name": name}, "data": map[string]any{"value": value}}
	if _, err := server.Create("configmaps", obj); err != nil {
		t.Fatal(err)
	}
}

// Two informers of one resource run at the same time. Their handlers keep each object that is
// deleted, while a thousand come and go (400 with -short), half of them in a gap of the watch, and
// one handler is slow. Each object is still what it was. The index is made of a named field.
func TestLazyObjectsAreKept(t *testing.T) {
	for name, packer := range map[string]lazy.Packer{"plain": nil, "packed": zstd.New()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, resource := lazyResource(t, lazy.Options{Fields: []lazy.Named{settingsData}, Packer: packer},
					listwatch.Options[*lazySettings]{Drop: []string{"metadata.managedFields"}})
				type kept struct {
					obj      *lazySettings
					inferred bool
				}
				gone := make([][]kept, 2)
				var stops []func()
				var in *informer.Informer[*lazySettings]
				for i := range gone {
					in = informer.New(resource, informer.Options[*lazySettings]{Logger: silent, Indexers: store.Indexers[*lazySettings]{
						"value": func(c *lazySettings) []string { return []string{settingsData.Of(c)["value"]} },
					}})
					if _, err := in.AddHandler(informer.Handler[*lazySettings]{OnDelete: func(obj *lazySettings, inferred bool) {
						<-time.After(time.Duration(i) * time.Second)
						gone[i] = append(gone[i], kept{obj, inferred})
					}}); err != nil {
						t.Fatal(err)
					}
					stops = append(stops, running(t, in))
				}
				later(time.Second)
				const each = 100
				rounds := 10
				if testing.Short() {
					rounds = 4
				}
				for round := range rounds {
					for i := range each {
						createSettings(t, server, fmt.Sprintf("c%d-%d", round, i), fmt.Sprint(i))
					}
					later(time.Minute)
					if found, err := in.Store().ByIndex("value", "7"); err != nil || len(found) != 1 {
						t.Fatalf("round %d: %v, %v", round, found, err)
					}
					if round%2 == 1 { // a relist finds the deletions
						must.OK(t, server.Refuse(time.Second))
						server.CutWatches(0)
					}
					for i := range each {
						if _, err := server.Delete("configmaps", "shop", fmt.Sprintf("c%d-%d", round, i)); err != nil {
							t.Fatal(err)
						}
					}
					server.Compact()
					later(10 * time.Minute)
				}
				for _, stop := range stops {
					stop()
				}
				for i := range gone {
					inferred := 0
					if len(gone[i]) != rounds*each {
						t.Errorf("handler %d: %d deletions", i, len(gone[i]))
					}
					for _, k := range gone[i] {
						whole, err := k.obj.Get()
						var round, n int
						if _, scanErr := fmt.Sscanf(k.obj.GetName(), "c%d-%d", &round, &n); scanErr != nil || err != nil {
							t.Fatal(k.obj, err, scanErr)
						}
						if want := fmt.Sprint(n); whole.Name != k.obj.GetName() || whole.Data["value"] != want || settingsData.Of(k.obj)["value"] != want {
							t.Errorf("%s is %+v", k.obj, whole)
						}
						if k.inferred {
							inferred++
						}
					}
					if inferred != rounds/2*each {
						t.Errorf("handler %d: the final state of %d of %d is inferred", i, inferred, len(gone[i]))
					}
				}
			})
		})
	}
}

// An object that cannot be decoded is in quarantine until it can be. Unchecked, it comes to the
// handler, and Get returns the error. A transform can refuse an object in either case.
func TestLazyObjectsThatCannotBeDecoded(t *testing.T) {
	for _, unchecked := range []bool{false, true} {
		t.Run(fmt.Sprintf("unchecked %v", unchecked), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, resource := lazyResource(t, lazy.Options{Unchecked: unchecked}, listwatch.Options[*lazySettings]{
					Transform: func(c *lazySettings) (*lazySettings, error) {
						if c.GetName() == "unwanted" {
							return nil, errors.New("unwanted")
						}
						return c, nil
					},
				})
				for _, name := range []string{"good", "unwanted"} {
					createSettings(t, server, name, "1")
				}
				bad := map[string]any{"metadata": map[string]any{"namespace": "shop", "name": "bad"}, "data": "no map"}
				if _, err := server.Create("configmaps", bad); err != nil {
					t.Fatal(err)
				}
				in := informer.New(resource, informer.Options[*lazySettings]{Logger: silent})
				var told []string
				tell := func(obj *lazySettings) {
					_, err := obj.Get()
					told = append(told, fmt.Sprint(obj, " ", err == nil))
				}
				if _, err := in.AddHandler(informer.Handler[*lazySettings]{
					OnAdd:    func(obj *lazySettings, _ bool) { tell(obj) },
					OnUpdate: func(_, obj *lazySettings) { tell(obj) },
				}); err != nil {
					t.Fatal(err)
				}
				stop := running(t, in)
				later(time.Minute)
				if _, err := server.Patch("configmaps", "shop", "bad", map[string]any{"data": map[string]any{"value": "2"}}); err != nil {
					t.Fatal(err)
				}
				later(time.Minute)
				stop()
				want := []string{"shop/good true", "shop/bad true"}
				if unchecked {
					want = []string{"shop/bad false", "shop/good true", "shop/bad true"}
				}
				if !slices.Equal(told, want) {
					t.Errorf("the handler was told %q, want %q", told, want)
				}
			})
		})
	}
}

// A server that was restored from a backup sends all objects again. Handlers are not told of an
// object whose bytes are the same, also if it is packed now and was not before.
func TestLazyObjectsThatAreEqual(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, resource := lazyResource(t, lazy.Options{Packer: &everySecond{}}, listwatch.Options[*lazySettings]{})
		createSettings(t, server, "same", "1")
		createSettings(t, server, "other", "1")
		backup := server.ResourceVersion()
		in := informer.New(resource, informer.Options[*lazySettings]{Logger: silent})
		var told []string
		if _, err := in.AddHandler(informer.Handler[*lazySettings]{
			OnUpdate: func(_, obj *lazySettings) { told = append(told, obj.GetName()) },
		}); err != nil {
			t.Fatal(err)
		}
		stop := running(t, in)
		later(time.Minute)
		if _, err := server.Patch("configmaps", "shop", "other", map[string]any{"data": map[string]any{"value": "2"}}); err != nil {
			t.Fatal(err)
		}
		later(time.Minute)
		must.OK(t, server.Restore(apitest.Restore{ResourceVersion: backup}))
		later(time.Minute)
		stop()
		if want := []string{"other", "other"}; !slices.Equal(told, want) {
			t.Errorf("the handler was told of %q, want %q", told, want)
		}
	})
}

// everySecond packs every second object, by a byte.
type everySecond struct{ objects int }

func (p *everySecond) Pack(data []byte) []byte {
	if p.objects++; p.objects%2 == 1 {
		return data
	}
	return data[1:] // each begins with a brace
}

func (p *everySecond) Unpack(packed []byte) []byte { return append([]byte("{"), packed...) }
