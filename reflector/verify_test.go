package reflector_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/protocol"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
	"github.com/relist-go/relist/transport"
)

// testObject is a ConfigMap without data.
type testObject struct {
	metav1.ObjectMeta `json:"metadata"`
}

// verified is a reflector that verifies its copy every 10 minutes against a server of
// which it knows nothing.
type verified struct {
	t      *testing.T
	server *apitest.Server
	known  *store.Store[*testObject]
	lists  atomic.Int64 // of the reflector

	mu      sync.Mutex
	deltas  []string
	reports []string
}

func (v *verified) note(list *[]string, line string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	*list = append(*list, line)
}

// runVerified runs test with a reflector that has synced with objects a, b and c.
func runVerified(t *testing.T, test func(v *verified)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		v := &verified{t: t, server: apitest.New(apitest.Options{})}
		for _, name := range []string{"a", "b", "c"} {
			v.create(name)
		}
		client, err := transport.NewClient(transport.Config{Server: "http://apitest", Dial: inMemory(t, v.server)})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		lw, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, listwatch.Options[*testObject]{})
		if err != nil {
			t.Fatal(err)
		}
		metadata, err := lw.Metadata()
		if err != nil {
			t.Fatal(err)
		}
		known := store.New(store.Options[*testObject]{})
		v.known = known
		queue := deltafifo.New(deltafifo.Options[*testObject]{Known: known})
		r := reflector.New(lw, reflector.InQueue(queue), reflector.Options{
			Verify: reflector.VerifyOptions{Interval: 10 * time.Minute, Metadata: metadata},
			Rand:   func() float64 { return 0 },
			Trace: &reflector.Trace{
				ListStart: func(reflector.ListStart) { v.lists.Add(1) },
				Problem:   func(p reflector.Problem) { v.note(&v.reports, p.Class.String()+" "+p.Key) },
			},
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{}, 2)
		go func() {
			_ = r.Run(ctx)
			done <- struct{}{}
		}()
		go func() {
			var err error
			for err == nil {
				err = queue.Pop(ctx, func(e deltafifo.Entry[*testObject]) error { return v.apply(known, e) })
			}
			done <- struct{}{}
		}()
		synctest.Wait()
		v.mu.Lock()
		v.deltas = nil
		v.mu.Unlock()
		test(v)
		cancel()
		<-done
		<-done
		if err := v.server.Close(); err != nil {
			t.Error(err)
		}
	})
}

func (v *verified) apply(known *store.Store[*testObject], e deltafifo.Entry[*testObject]) error {
	for _, d := range e.Deltas {
		line := d.Type.String() + " " + e.Key
		if d.Tombstone != nil {
			line += " inferred"
		}
		if d.Type == deltafifo.Deleted {
			v.note(&v.deltas, line)
			if err := known.Delete(d.Object); err != nil {
				return err
			}
			continue
		}
		if old, ok := known.Get(e.Key); !ok || old.ResourceVersion != d.Object.ResourceVersion {
			v.note(&v.deltas, line)
		}
		if err := known.Update(d.Object); err != nil {
			return err
		}
	}
	return nil
}

func (v *verified) create(name string) {
	v.t.Helper()
	_, err := v.server.Create("configmaps", map[string]any{"metadata": map[string]any{"namespace": "default", "name": name}})
	if err != nil {
		v.t.Fatal(err)
	}
}

// Up to a hundred objects that differ are asked for one by one; more are listed. What a
// list takes from the sink is no repair where the sink is what is wrong, so everything is
// decoded.
func TestVerifyListsIfMoreThanAHundredDiffer(t *testing.T) {
	for _, lost := range []int{100, 101} {
		t.Run(fmt.Sprint(lost), func(t *testing.T) {
			runVerified(t, func(v *verified) {
				for i := range lost {
					v.create(fmt.Sprintf("x%03d", i))
				}
				synctest.Wait()
				v.mu.Lock()
				v.deltas = nil
				v.mu.Unlock()
				before, _ := v.known.Get("default/a")
				if err := v.server.DropEvent("DELETED", lost); err != nil {
					v.t.Fatal(err)
				}
				for i := range lost {
					if _, err := v.server.Delete("configmaps", "default", fmt.Sprintf("x%03d", i)); err != nil {
						v.t.Fatal(err)
					}
				}
				v.create("d") // the resume version moves past the deletions
				v.create("e") // a history check asks for the newest two objects, and would find the loss before
				<-time.After(20 * time.Minute)
				synctest.Wait()
				if n := v.known.Len(); n != 5 {
					v.t.Errorf("%d objects are held, want 5", n)
				}
				var drift int
				for _, report := range v.reports {
					if strings.HasPrefix(report, "drift default/x") {
						drift++
					}
				}
				if drift != 100 {
					v.t.Errorf("%d differences were reported, want 100", drift)
				}
				after, _ := v.known.Get("default/a")
				listed := v.lists.Load() == 2
				if want := lost > 100; listed != want || (after != before) != want {
					v.t.Errorf("listed again is %t, and what did not differ was decoded again is %t; want %t", listed, after != before, want)
				}
			})
		})
	}
}

// What a verification has listed is as large as the copy is. It is let go when it was compared.
func TestVerifyLetsGoOfWhatItListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, metadata := newScripted(), newScripted()
		var listed weak.Pointer[metav1.PartialObjectMetadata]
		server.list = func(metav1.ListOptions) (*source.Page[partial], error) {
			return pageOf("100", newPartial("x", "u", "90")), nil
		}
		server.ask = func(context.Context, string) (*source.Page[partial], error) {
			return pageOf("100", newPartial("x", "u", "90")), nil
		}
		metadata.list = func(metav1.ListOptions) (*source.Page[partial], error) {
			obj := newPartial("x", "u", "90")
			listed = weak.Make(obj)
			return pageOf("100", obj), nil
		}
		verified := 0
		r := reflector.New(server, reflector.InMemory(store.New(store.Options[partial]{})), reflector.Options{
			Rand: zero, Verify: reflector.VerifyOptions{Interval: time.Minute, Metadata: metadata},
			Trace: &reflector.Trace{Verified: func(reflector.Verified) { verified++ }},
		})
		stop := running(t, r)
		later(61 * time.Second)
		runtime.GC()
		if verified != 1 || listed.Value() != nil {
			t.Errorf("after %d verifications the list is held: %t, want 1 and false", verified, listed.Value() != nil)
		}
		stop()
	})
}

// Of the metadata of a page, only what is compared is kept, so that a verification of 100,000 Pods
// does not take 400 MB.
func TestVerifyKeepsOnlyIdentities(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, metadata := newScripted(), newScripted()
		server.list = func(metav1.ListOptions) (*source.Page[partial], error) {
			return pageOf("100", newPartial("x", "u", "90"), newPartial("y", "v", "91")), nil
		}
		server.ask = func(context.Context, string) (*source.Page[partial], error) {
			return pageOf("100", newPartial("y", "v", "91")), nil
		}
		var first weak.Pointer[metav1.PartialObjectMetadata]
		kept := false
		metadata.list = func(opts metav1.ListOptions) (*source.Page[partial], error) {
			if opts.Continue != "" {
				runtime.GC()
				kept = first.Value() != nil
				return pageOf("100", newPartial("y", "v", "91")), nil
			}
			obj := newPartial("x", "u", "90")
			first = weak.Make(obj)
			page := pageOf("100", obj)
			page.Continue = "more"
			return page, nil
		}
		var verified []reflector.Verified
		r := reflector.New(server, reflector.InMemory(store.New(store.Options[partial]{})), reflector.Options{
			Rand: zero, Verify: reflector.VerifyOptions{Interval: time.Minute, Metadata: metadata},
			Trace: &reflector.Trace{Verified: func(v reflector.Verified) { verified = append(verified, v) }},
		})
		stop := running(t, r)
		later(61 * time.Second)
		if len(verified) != 1 || verified[0].Objects != 2 || verified[0].Differences != 0 || kept {
			t.Errorf("verified %v, the first page was kept: %t; want 2 objects, no difference, and false", verified, kept)
		}
		stop()
	})
}

// An object whose metadata cannot be read is there all the same, and one without a name may be any
// that is held.
func TestVerifyInfersNothingFromWhatItCannotRead(t *testing.T) {
	for name, bad := range map[string]object.Meta{"with a name": {Key: "x"}, "without": {}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, metadata := newScripted(), newScripted()
				server.list = func(metav1.ListOptions) (*source.Page[partial], error) {
					return pageOf("100", newPartial("x", "u", "90")), nil
				}
				metadata.list = func(metav1.ListOptions) (*source.Page[partial], error) {
					page := pageOf("100")
					page.Errors = append(page.Errors, undecodable(bad))
					return page, nil
				}
				var story []string
				r := reflector.New(server, reflector.InMemory(store.New(store.Options[partial]{})), reflector.Options{
					Rand: zero, Verify: reflector.VerifyOptions{Interval: 30 * time.Second, Metadata: metadata},
					Trace: &reflector.Trace{
						Problem:  func(p reflector.Problem) { story = append(story, p.Class.String()) },
						Verified: func(e reflector.Verified) { story = append(story, fmt.Sprint("verified ", e.Differences)) },
					},
				})
				stop := running(t, r)
				later(31 * time.Second)
				stop()
				if want := []string{"verified 0"}; !slices.Equal(story, want) {
					t.Errorf("the story is %q, want %q", story, want)
				}
			})
		})
	}
}

// More objects than the quarantine has room for are no drift: lists look after them already.
func TestVerificationReportsNoDriftOfObjectsThatListsLookAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newScripted()
		bad := map[string]partial{}
		for i := range 1200 {
			name := fmt.Sprintf("bad-%04d", i)
			bad[name] = newPartial(name, "u", "50")
		}
		server.list = func(metav1.ListOptions) (*source.Page[partial], error) {
			page := pageOf("100", newPartial("good", "u", "60"))
			for _, obj := range bad {
				page.Errors = append(page.Errors, undecodable(metaOf(obj)))
			}
			return page, nil
		}
		server.ask = func(_ context.Context, name string) (*source.Page[partial], error) {
			page := pageOf("100")
			if obj, ok := bad[name]; ok {
				page.Errors = append(page.Errors, undecodable(metaOf(obj)))
			}
			return page, nil
		}
		all := []partial{newPartial("good", "u", "60")}
		for _, obj := range bad {
			all = append(all, obj)
		}
		drift := 0
		metadata := newScripted()
		metadata.list = func(metav1.ListOptions) (*source.Page[partial], error) { return pageOf("100", all...), nil }
		r := reflector.New[partial](server, reflector.InMemory(store.New(store.Options[partial]{})), reflector.Options{
			Rand: zero, Verify: reflector.VerifyOptions{Interval: time.Minute, Metadata: metadata},
			Trace: &reflector.Trace{Problem: func(p reflector.Problem) {
				if p.Class == protocol.DriftProblem {
					drift++
				}
			}},
		})
		stop := running(t, r)
		later(time.Hour)
		if drift != 0 {
			t.Errorf("%d objects are reported as drift, and none differs in anything but that it cannot be decoded", drift)
		}
		stop()
	})
}
