package durable_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/listwatch"
)

// More objects than there are names of unsure keys cannot be stored: the copy has a version all the
// same, and says how many there are.
func TestMoreUnsureKeysThanHaveNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for i := range 1100 {
			r.create("bad", fmt.Sprint("o", i), nil)
		}
		r.create("good", "a", nil)
		refuse := true
		opts := listwatch.Options[*thing]{Transform: func(o *thing) (*thing, error) {
			if refuse && o.Namespace == "bad" {
				return nil, errors.New("it cannot be stored")
			}
			return o, nil
		}}
		wantDoubts := func(named, more int) {
			t.Helper()
			if at := r.place.state.Point; at.Version == "" || len(at.Unsure) != named || at.MoreUnsure != more {
				t.Errorf("the version is %q with %d unsure keys and %d more; want a version, %d and %d", at.Version, len(at.Unsure), at.MoreUnsure, named, more)
			}
		}
		write := func(*durable.Mirror[*thing]) {
			for i := range 20 {
				r.create("good", fmt.Sprint("b", len(r.place.rows), "-", i), nil)
				later(10 * time.Second)
			}
			wantDoubts(1000, 100)
		}
		if err := r.run(opts, nil, write); len(r.place.rows) != 21 {
			t.Errorf("%d rows, want 21: %v", len(r.place.rows), err)
		}
		if lists, _, _ := r.asked(); lists > 16 { // the first, and three pages after about 1, 10, 30, 60 and 120 s
			t.Errorf("%d requests of lists in 4 minutes", lists)
		}
		versioned := func(c commit) bool { return c.version != "" }
		first := slices.IndexFunc(r.commits, versioned)
		if first < 0 || !slices.ContainsFunc(r.commits[first:], func(c commit) bool { return !c.list }) || slices.ContainsFunc(r.commits[first:], func(c commit) bool { return !versioned(c) }) {
			t.Errorf("of %d commits, that at %d is the first with a version; want every later one to have one, and events among them", len(r.commits), first)
		}

		// The next program continues there, and lists, because not every key is known.
		r.commits = nil
		_ = r.run(opts, nil, write)
		if slices.ContainsFunc(r.commits, func(c commit) bool { return !versioned(c) }) {
			t.Error("a restart has committed without a version")
		}
		refuse = false
		_ = r.run(opts, nil, nil)
		wantDoubts(0, 0)
		if !strings.Contains(r.rows(), "bad/o1099") || len(r.place.rows) != 1141 {
			t.Errorf("%d rows, want 1141", len(r.place.rows))
		}
	})
}
