package informer_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/store"
)

// The store's version is never ahead of what has been applied. Each object is made at a version of its own, and a bookmark
// follows it; an index function, which runs before an object is applied, looks at what the store says it has already.
// Real goroutines: the consumer has to take entries while a bookmark is being noted.
func TestVersionIsNotAhead(t *testing.T) {
	const objects = 3000
	for range 10 {
		f := newFake("first")
		var in *informer.Informer[*thing]
		ahead := 0
		look := func(obj *thing) []string {
			if number(in.Store().ResourceVersion()) >= number(obj.ResourceVersion) {
				ahead++
			}
			return nil
		}
		in = informer.New(f, informer.Options[*thing]{Logger: silent, Indexers: store.Indexers[*thing]{"look": look}})
		ctx, stop := context.WithCancel(t.Context())
		last := fmt.Sprint(objects - 1)
		_, err := in.AddHandler(informer.Handler[*thing]{OnAdd: onNamed(last, stop)})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- in.Run(ctx) }()
		<-in.Synced()
		for i := range objects {
			f.set(fmt.Sprint(i), 0)
			f.bookmark()
		}
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if ahead > 0 {
			t.Fatalf("the store was ahead of %d of %d objects", ahead, objects)
		}
	}
}

// Out of the queue of keys a change may come before one that is older: of a list, whose order is not that of versions, and
// of a key that was queued already.
func TestVersionIsNotAheadOfOtherKeys(t *testing.T) {
	for name, change := range map[string]func(f *fake){
		"a list":   func(f *fake) { f.gap(func() { f.set("b", 1); f.set("a", 1) }) },
		"one busy": func(f *fake) { f.set("a", 1); f.set("b", 1); f.set("a", 2) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake("a", "b")
				var in *informer.Informer[*thing]
				looks := 0
				r := newRig(t, f, informer.Options[*thing]{Indexers: store.Indexers[*thing]{"look": func(obj *thing) []string {
					looks++
					<-time.After(time.Second) // what comes meanwhile waits
					if held := in.Store().ResourceVersion(); number(held) >= number(obj.ResourceVersion) {
						t.Errorf("the store is at %s before it has %s at %s", held, obj.Name, obj.ResourceVersion)
					}
					return nil
				}}})
				in = r.Informer
				r.start()
				later(time.Minute)
				change(f)
				later(time.Minute)
				if looks < 4 {
					t.Errorf("%d objects were applied, want 4 at least", looks)
				}
				r.agree()
				if got, want := in.Store().ResourceVersion(), in.Status().ResourceVersion; got != want {
					t.Errorf("the store is at %s in the end, want %s", got, want)
				}
			})
		})
	}
}

// A server that was restored from a backup is at an older version than the store, whose version goes back with it: to
// that of the list, or of what has come since.
func TestVersionGoesBackWithTheServer(t *testing.T) {
	tests := []struct {
		name   string
		happen func(f *fake)
		want   string
	}{
		{"the list alone", func(*fake) {}, "45"},
		{"with a change", func(f *fake) { f.set("a", 9) }, "46"},
		{"with a new object", func(f *fake) { f.set("z", 9) }, "46"},
		{"with a bookmark", func(f *fake) { f.bookmark() }, "46"},
		{"and catches up", func(f *fake) {
			for i := range 100 {
				f.set("a", i)
			}
		}, "145"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake("a", "b", "c")
				f.version = 99
				f.set("b", 1)
				var release chan struct{}
				hold := func(*thing) []string { // the consumer has all of it before it when it begins
					if release != nil {
						<-release
					}
					return nil
				}
				r := newRig(t, f, informer.Options[*thing]{Indexers: store.Indexers[*thing]{"hold": hold}})
				r.start()
				if got := r.Store().ResourceVersion(); got != "100" {
					t.Fatalf("the store is at %s, want 100", got)
				}
				f.set("c", 1)
				f.set("c", 2)
				synctest.Wait()

				release = make(chan struct{})
				f.set("b", 2) // at which the consumer stops
				f.set("c", 3) // what waits is of the past, too
				f.set("d", 3)
				f.remove("d")
				synctest.Wait()
				a, b := f.object("a", "uid-1", 0), f.object("b", "uid-2", 7)
				a.ResourceVersion, b.ResourceVersion = "1", "40"
				f.restore(45, a, b)
				later(time.Minute)
				test.happen(f)
				synctest.Wait()
				close(release)
				r.agree()
				if got := r.Store().ResourceVersion(); got != test.want {
					t.Errorf("the store is at %s, want %s", got, test.want)
				}
			})
		})
	}
}

// A server that was restored from a backup gives its versions out again: an object of the new history can have the UID and
// the version that it had in the old one, and other content. The handlers are told, and of nothing that is equal.
func TestSameVersionOfAnotherHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "b")
		r := newRig(t, f, informer.Options[*thing]{})
		var d diary
		r.add(d.handler())
		r.start()
		f.set("a", 111) // version 3 of the old history
		synctest.Wait()
		a := *f.objects["a"]
		for i := range 4 {
			f.set("b", 7+i)
			synctest.Wait()
		}
		d.expect(t, "add a=0 initial; add b=0 initial; update a=0->111; update b=0->7; update b=7->8; update b=8->9; update b=9->10")

		b := *f.objects["b"]
		a.Value = 222 // version 3 of the new history
		b.ResourceVersion, b.Value = "2", 0
		f.restore(4, &a, &b)
		later(time.Minute)
		d.expect(t, "update a=111->222; update b=10->0")
		r.agree()

		held, _ := r.Store().Get("a")
		f.gap(func() {}) // a list of equal copies
		later(time.Minute)
		d.expect(t, "")
		if again, _ := r.Store().Get("a"); again != held {
			t.Error("an equal copy took the place of the object that everybody has")
		}
	})
}

func number(version string) int {
	n, _ := strconv.Atoi(version)
	return n
}

// askable is a fake that has something happen before it answers a list of one object.
type askable struct {
	*fake
	before func(key string)
}

func (f askable) List(ctx context.Context, opts metav1.ListOptions) (*listwatch.Page[*thing], error) {
	if key, ok := strings.CutPrefix(opts.FieldSelector, "metadata.name="); ok {
		f.before(key)
	}
	return f.fake.List(ctx, opts)
}

// An object that could not be decoded is asked for, and is ahead of a change of another one,
// which the watch has yet to bring: the store has the object, and is not at its version.
func TestVersionIsNotAheadByWhatWasAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "b")
		var missing *thing
		lw := askable{f, func(key string) {
			f.mu.Lock()
			defer f.mu.Unlock()
			missing = f.object("b", f.objects["b"].UID, 5)
			f.objects["b"] = missing
			f.objects[key] = f.object(key, f.objects[key].UID, 3)
		}}
		r := newRig(t, f, informer.Options[*thing]{})
		r.Informer = informer.New(lw, informer.Options[*thing]{Logger: silent})
		r.start()
		f.mu.Lock()
		f.emit(listwatch.Modified, f.object("a", f.objects["a"].UID, 2))
		bad := &f.log[len(f.log)-1]
		bad.Object, bad.Err = nil, &listwatch.ObjectError{Meta: bad.Meta, Err: errors.New("bad field")}
		f.mu.Unlock()
		later(5 * time.Second)

		if missing == nil {
			t.Fatal("nothing was asked for")
		}
		held, _ := r.Store().Get("a")
		if held == nil || held.Value != 3 {
			t.Fatalf("a is %+v, want what was answered", held)
		}
		if at := r.Store().ResourceVersion(); number(at) >= number(missing.ResourceVersion) {
			t.Errorf("the store is at %s and has nothing of b at %s", at, missing.ResourceVersion)
		}
		f.mu.Lock()
		f.emit(listwatch.Modified, missing)
		f.emit(listwatch.Modified, f.objects["a"])
		f.mu.Unlock()
		synctest.Wait()
		if at, want := r.Store().ResourceVersion(), f.objects["a"].ResourceVersion; at != want {
			t.Errorf("the store is at %s, want %s", at, want)
		}
		want := f.bookmark()
		synctest.Wait()
		if at := r.Store().ResourceVersion(); at != want {
			t.Errorf("the store is at %s after a bookmark, want %s", at, want)
		}
		if held, _ := r.Store().Get(object.Key(missing)); held != missing {
			t.Errorf("b is %+v, want %+v", held, missing)
		}
	})
}
