package informer_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/store"
)

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
		r.Informer = informer.New(lw, informer.Options[*thing]{})
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
		if held, _ := r.Store().Get(store.Key(missing)); held != missing {
			t.Errorf("b is %+v, want %+v", held, missing)
		}
	})
}
