package informer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/store"
)

// fetchable is a fake of which single objects can be fetched.
type fetchable struct {
	*fake
	get func(key string) *thing
}

func (f fetchable) Get(_ context.Context, key string) (*thing, listwatch.Meta, error) {
	obj := f.get(key)
	return obj, listwatch.Meta{Key: key, UID: obj.UID, ResourceVersion: obj.ResourceVersion}, nil
}

// An object that could not be decoded is fetched, and is ahead of a change of another one,
// which the watch has yet to bring: the store has the object, and is not at its version.
func TestVersionIsNotAheadByWhatWasFetched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "b")
		var missing *thing
		lw := fetchable{f, func(key string) *thing {
			f.mu.Lock()
			defer f.mu.Unlock()
			missing = f.object("b", f.objects["b"].UID, 5)
			f.objects["b"] = missing
			f.objects[key] = f.object(key, f.objects[key].UID, 3)
			return f.objects[key]
		}}
		r := newRig(t, f, informer.Options[*thing]{})
		r.Informer = informer.New(lw, informer.Options[*thing]{})
		r.start()
		f.mu.Lock()
		f.emit(listwatch.Modified, f.object("a", f.objects["a"].UID, 2))
		bad := &f.log[len(f.log)-1]
		bad.Object, bad.Err = nil, &listwatch.ObjectError{Meta: bad.Meta, Err: errors.New("bad field")}
		f.mu.Unlock()
		later(5 * time.Second)

		if missing == nil {
			t.Fatal("nothing was fetched")
		}
		held, _ := r.Store().Get("a")
		if held == nil || held.Value != 3 {
			t.Fatalf("a is %+v, want what was fetched", held)
		}
		if at := r.Store().ResourceVersion(); number(at) >= number(missing.ResourceVersion) {
			t.Errorf("the store is at %s and has nothing of b at %s", at, missing.ResourceVersion)
		}
		f.mu.Lock()
		f.emit(listwatch.Modified, missing)
		f.emit(listwatch.Modified, f.objects["a"])
		f.mu.Unlock()
		synctest.Wait()
		if at := r.Store().ResourceVersion(); at != missing.ResourceVersion {
			t.Errorf("the store is at %s, want %s", at, missing.ResourceVersion)
		}
		want := f.bookmark()
		synctest.Wait()
		if at := r.Store().ResourceVersion(); at != want {
			t.Errorf("the store is at %s after a bookmark, want %s", at, want)
		}
		if held, _ := r.Store().Get(store.Key(missing)); held != missing {
			t.Errorf("b is %+v, want %+v", held, missing)
		}
	})
}
