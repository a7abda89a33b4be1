package simulation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/controller"
	writes "github.com/relist-go/relist/controller/writer"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/source"
	objects "github.com/relist-go/relist/object"
	"github.com/relist-go/relist/store"
	"github.com/relist-go/relist/transport"
)

// A controller gives each parent one child, whose name the server makes. It looks into its cache
// whether there is one. It never makes two, whatever becomes of its watches, its answers and
// itself. 10,000 take minutes: -seeds=334 plays them.
func TestChildrenWithGeneratedNames(t *testing.T) {
	few := uint64(*seeds * 30)
	if testing.Short() {
		few = 60
	}
	const parts = 4
	var mu sync.Mutex
	var all family
	t.Run("all", func(t *testing.T) {
		for part := range uint64(parts) {
			t.Run(fmt.Sprint(part), func(t *testing.T) {
				t.Parallel()
				for seed := part; seed < few; seed += parts {
					f := raise(t, seed, true)
					if f.doubles > 0 || f.without > 0 {
						t.Errorf("seed %d: %+v", seed, f)
					}
					mu.Lock()
					all.add(f)
					mu.Unlock()
				}
			})
		}
	})
	t.Logf("%d seeds: %+v", few, all)
}

// If the writes are not made with the context of Reconcile, there are doubles.
func TestChildrenWithoutNotes(t *testing.T) {
	t.Parallel()
	var all family
	for seed := range uint64(100) {
		all.add(raise(t, seed, false))
	}
	t.Logf("%+v", all)
	if all.doubles < 10 {
		t.Errorf("%d doubles show nothing", all.doubles)
	}
}

// family is what has become of the parents and children of some seeds.
type family struct{ born, unanswered, restarts, doubles, without int }

func (f *family) add(o family) {
	f.born += o.born
	f.unanswered += o.unanswered
	f.restarts += o.restarts
	f.doubles += o.doubles
	f.without += o.without
}

var (
	parentType = objects.Type{Version: "v1", Resource: "configmaps", Kind: "ConfigMap"}
	childType  = objects.Type{Version: "v1", Resource: "secrets", Kind: "Secret"}
)

type relative struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

// household is one server, and the program that runs against it.
type household struct {
	family
	t       *testing.T
	srv     *apitest.Server
	dice    *rand.Rand
	client  *transport.Client
	noted   bool
	several bool // namespaces, each with a cache of its own

	mu   sync.Mutex
	lose int // answers to writes that are lost from now on

	stop  context.CancelFunc
	ended chan error
}

func raise(t *testing.T, seed uint64, noted bool) (f family) {
	synctest.Test(t, func(t *testing.T) {
		h := &household{t: t, dice: dice(seed, 30), noted: noted, several: seed%2 == 0}
		var listener *apitest.Listener
		h.srv, listener = apitest.StartInMemory(t, apitest.Options{Log: func(r apitest.LoggedRequest) {
			if r.Method == http.MethodPost && r.Status == http.StatusCreated {
				h.mu.Lock()
				defer h.mu.Unlock()
				h.born++
			}
		}})
		direct := clientOf(t, transport.Config{Server: listener.URL, Dial: listener.Dial})
		h.client = clientOf(t, transport.Config{Server: listener.URL, RoundTripper: &careless{direct.RoundTripper(), h}})
		for i := range 4 {
			h.do(h.srv.Create("configmaps", map[string]any{"metadata": map[string]any{"namespace": namespaceOf(i), "name": parentName(i)}}))
		}
		old := h.srv.Replica("old")
		old.Freeze()
		h.start()
		for range 25 {
			h.happen(old)
			if h.dice.IntN(3) > 0 {
				<-time.After(time.Duration(h.dice.ExpFloat64() * float64(2*time.Second)))
			}
		}
		h.srv.Route(h.srv.Replica(""))
		h.do("", h.srv.Resume())
		h.srv.ClearFaults()
		<-time.After(15 * time.Minute)
		h.count(true)
		h.halt()
		f = h.family
	})
	return f
}

func namespaceOf(i int) string { return []string{"a", "b"}[i%2] }
func parentName(i int) string  { return fmt.Sprint("p", i) }

func clientOf(t *testing.T, config transport.Config) *transport.Client {
	client, err := transport.NewClient(config)
	must.OK(t, err)
	t.Cleanup(client.Close)
	return client
}

func (h *household) do(_ string, err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// careless loses answers to writes.
type careless struct {
	http.RoundTripper
	h *household
}

func (c *careless) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := c.RoundTripper.RoundTrip(req)
	if err != nil || req.Method != http.MethodPost {
		return resp, err
	}
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	if c.h.lose == 0 {
		return resp, nil
	}
	c.h.lose--
	c.h.unanswered++
	_ = resp.Body.Close()
	return nil, io.ErrUnexpectedEOF
}

// happen lets something happen.
func (h *household) happen(old *apitest.Replica) {
	switch i := h.dice.IntN(4); h.dice.IntN(12) {
	case 0, 1, 2:
		h.do(h.srv.Patch("configmaps", namespaceOf(i), parentName(i), map[string]any{"data": map[string]any{"n": fmt.Sprint(h.dice.Int())}}))
	case 3: // somebody deletes a child
		for _, child := range h.count(false) {
			h.do(h.srv.Delete("secrets", child[0], child[1]))
			break
		}
	case 4:
		h.srv.Stall()
	case 5:
		h.do("", h.srv.Resume())
	case 6:
		h.do("", h.srv.FailNext(apitest.Failure{Verb: "watch", For: time.Duration(h.dice.IntN(10)) * time.Second, Status: http.StatusServiceUnavailable}))
		h.srv.EndWatches()
	case 7:
		h.srv.Compact()
	case 8: // another API server answers, which may be behind
		h.srv.Route([]*apitest.Replica{h.srv.Replica(""), old}[h.dice.IntN(2)])
		h.srv.CutWatches(0)
	case 9:
		old.Unfreeze()
		synctest.Wait()
		old.Freeze()
	case 10: // the program is killed, and another one begins
		h.restarts++
		h.halt()
		h.start()
	case 11:
		h.mu.Lock()
		h.lose += h.dice.IntN(3)
		h.mu.Unlock()
	}
}

// count returns the children, and counts those that are too many, or too few.
func (h *household) count(settled bool) (children [][2]string) {
	list, _, err := h.srv.List("secrets", "")
	if err != nil {
		h.t.Fatal(err)
	}
	of := map[string]int{}
	for _, secret := range list {
		meta := secret["metadata"].(map[string]any)
		owner := meta["ownerReferences"].([]any)[0].(map[string]any)["name"].(string)
		of[owner]++
		children = append(children, [2]string{meta["namespace"].(string), meta["name"].(string)})
	}
	for i := range 4 {
		n := of[parentName(i)]
		if n > 1 {
			h.doubles += n - 1
		}
		if n == 0 && settled {
			h.without++
		}
	}
	return children
}

// cacheOf makes a cache of all namespaces, or one of each.
func cacheOf(h *household, typ objects.Type, opts informer.Options[*relative]) controller.Cache[*relative] {
	opts.Logger = slog.New(slog.DiscardHandler)
	in := func(namespace string) (source.ListWatcher[*relative], error) {
		return listwatch.New(h.client, schema.GroupVersionResource{Version: typ.Version, Resource: typ.Resource}, listwatch.Options[*relative]{Namespace: namespace})
	}
	if h.several {
		m := informer.NewMultiNamespace(in, opts)
		h.do("", errors.Join(m.Add("a"), m.Add("b")))
		return m
	}
	lw, err := in("")
	h.do("", err)
	return informer.New(lw, opts)
}

// start starts the program.
func (h *household) start() {
	parents := cacheOf(h, parentType, informer.Options[*relative]{})
	children := cacheOf(h, childType, informer.Options[*relative]{Indexers: store.Indexers[*relative]{"owner": controller.OwnerKeys[*relative](parentType)}})
	secrets, err := writes.New[*relative](h.client, childType, writes.Options{})
	h.do("", err)
	ctx, stop := context.WithCancel(h.t.Context())
	h.stop, h.ended = stop, make(chan error, 1)
	reconcile := func(noted context.Context, key string) (time.Duration, error) {
		parent, exists := reader(parents).Get(key)
		has, err := reader(children).ByIndex("owner", key)
		if !exists || len(has) > 0 || err != nil {
			return 0, err
		}
		if !h.noted {
			noted = ctx
		}
		meta := controller.OwnedMeta(parent, parentType, "")
		meta.GenerateName = parent.Name + "-"
		_, err = secrets.Create(noted, &relative{ObjectMeta: meta})
		return 0, err
	}
	go func() {
		h.ended <- controller.Run(ctx, reconcile, controller.Options{Workers: 2, Logger: slog.New(slog.DiscardHandler)},
			controller.For(parents), controller.Owns(children, parentType))
	}()
}

func reader(c controller.Cache[*relative]) informer.Reader[*relative] {
	return c.(interface {
		Store() informer.Reader[*relative]
	}).Store()
}

func (h *household) halt() {
	h.stop()
	if err := <-h.ended; !errors.Is(err, context.Canceled) {
		h.t.Errorf("Run returned %v", err)
	}
}
