package informer_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/store"
)

// The store's version is never ahead of what has been applied. Each object is made at a version of
// its own, and a bookmark follows it; an index function, which runs before an object is applied,
// looks at what the store says it has already. Real goroutines: the consumer has to take entries
// while a bookmark is being noted.
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
		must.OK(t, err)
		done := make(chan error)
		go func() { done <- in.Run(ctx) }()
		<-in.Synced()
		for i := range objects {
			f.set(fmt.Sprint(i), 0)
			f.Bookmark()
		}
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if ahead > 0 {
			t.Fatalf("the store was ahead of %d of %d objects", ahead, objects)
		}
	}
}

// Out of the queue of keys a change may come before one that is older: of a list, whose order is
// not that of versions, and of a key that was queued already.
func TestVersionIsNotAheadOfOtherKeys(t *testing.T) {
	for name, change := range map[string]func(f *fake){
		"a list":   func(f *fake) { f.Gap(func() { f.set("b", 1); f.set("a", 1) }) },
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

// A server that was restored from a backup is at an older version than the store, whose version
// goes back with it: to that of the list, or of what has come since.
func TestVersionGoesBackWithTheServer(t *testing.T) {
	tests := []struct {
		name   string
		happen func(f *fake)
		want   string
	}{
		{"the list alone", func(*fake) {}, "45"},
		{"with a change", func(f *fake) { f.set("a", 9) }, "46"},
		{"with a new object", func(f *fake) { f.set("z", 9) }, "46"},
		{"with a bookmark", func(f *fake) { f.Bookmark() }, "46"},
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
				f.SkipTo(99)
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
				f.Remove("d")
				synctest.Wait()
				a, b := *held(f, "a"), *held(f, "b")
				b.ResourceVersion, b.Value = "40", 7
				f.Restore(45, &a, &b)
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

// A server that was restored from a backup gives its versions out again: an object of the new
// history can have the UID and the version that it had in the old one, and other content. The
// handlers are told, and of nothing that is equal.
func TestSameVersionOfAnotherHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "b")
		r := newRig(t, f, informer.Options[*thing]{})
		var d diary
		r.add(d.handler())
		r.start()
		f.set("a", 111) // version 3 of the old history
		synctest.Wait()
		a := *held(f, "a")
		for i := range 4 {
			f.set("b", 7+i)
			synctest.Wait()
		}
		d.expect(t, "add a=0 initial; add b=0 initial; update a=0->111; update b=0->7; update b=7->8; update b=8->9; update b=9->10")

		b := *held(f, "b")
		a.Value = 222 // version 3 of the new history
		b.ResourceVersion, b.Value = "2", 0
		f.Restore(4, &a, &b)
		later(time.Minute)
		d.expect(t, "update a=111->222; update b=10->0")
		r.agree()

		before, _ := r.Store().Get("a")
		f.Gap(func() {}) // a list of equal copies
		later(time.Minute)
		d.expect(t, "")
		if again, _ := r.Store().Get("a"); again != before {
			t.Error("an equal copy took the place of the object that everybody has")
		}
	})
}

func held(f *fake, key string) *thing {
	obj, _ := f.Get(key)
	return obj
}

func number(version string) int {
	n, _ := strconv.Atoi(version)
	return n
}

// An object that could not be decoded is asked for, and is ahead of a change of another one,
// which the watch has yet to bring: the store has the object, and is not at its version.
func TestVersionIsNotAheadByWhatWasAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "b")
		var missing *thing
		f.Bad = func(obj *thing) error {
			if obj.Value == 2 {
				return errors.New("bad field")
			}
			return nil
		}
		f.Asked = func(_ context.Context, verb string) error {
			if verb == "ask" {
				missing = f.Corrupt("b", &thing{Value: 5})
				f.Corrupt("a", &thing{Value: 3})
			}
			return nil
		}
		r := newRig(t, f, informer.Options[*thing]{})
		r.start()
		f.set("a", 2)
		later(5 * time.Second)

		if missing == nil {
			t.Fatal("nothing was asked for")
		}
		has, _ := r.Store().Get("a")
		if has == nil || has.Value != 3 {
			t.Fatalf("a is %+v, want what was answered", has)
		}
		if at := r.Store().ResourceVersion(); number(at) >= number(missing.ResourceVersion) {
			t.Errorf("the store is at %s and has nothing of b at %s", at, missing.ResourceVersion)
		}
		f.Repeat("b")
		f.Repeat("a")
		synctest.Wait()
		if at, want := r.Store().ResourceVersion(), held(f, "a").ResourceVersion; at != want {
			t.Errorf("the store is at %s, want %s", at, want)
		}
		want := f.Bookmark()
		synctest.Wait()
		if at := r.Store().ResourceVersion(); at != want {
			t.Errorf("the store is at %s after a bookmark, want %s", at, want)
		}
		if has, _ := r.Store().Get("b"); !reflect.DeepEqual(has, missing) {
			t.Errorf("b is %+v, want %+v", has, missing)
		}
	})
}
