package informer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/informer"
)

// lister is a Member that has no Status.
type lister struct{}

func (lister) Run(ctx context.Context) error     { <-ctx.Done(); return ctx.Err() }
func (lister) WaitForSync(context.Context) error { return nil }

func TestGroupStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		away := errors.New("away")
		broken, town := newFake("s"), newTown("a/x", "b/x")
		broken.Fail(away)
		town.in("b").Fail(away)
		multi := informer.NewMultiNamespace(town.open, informer.Options[*thing]{Logger: silent})
		for _, namespace := range []string{"b", "a"} {
			if err := multi.Add(namespace); err != nil {
				t.Fatal(err)
			}
		}
		g := informer.NewGroup()
		if got := g.Status(); got != nil {
			t.Errorf("a group without members has %v", got)
		}
		join(t, g, "secrets", follow(broken, informer.Options[*thing]{}))
		join(t, g, "pods", follow(newFake("a"), informer.Options[*thing]{}))
		join(t, g, "maps", multi)
		join(t, g, "own", lister{})

		expect := func(want ...string) {
			t.Helper()
			var got []string
			for _, s := range g.Status() {
				since, err := s.Failing()
				if err != nil && !since.Equal(began) {
					t.Errorf("%s has failed since %v, want %v", s.Name, since, began)
				}
				if err == nil && !since.IsZero() {
					t.Errorf("%s does not fail, and does since %v", s.Name, since)
				}
				got = append(got, fmt.Sprintf("%s %q %s failing=%v", s.Name, s.Namespace, s.State, err))
			}
			if !slices.Equal(got, want) {
				t.Errorf("status is\n%q, want\n%q", got, want)
			}
		}
		expect(
			`maps "a" stopped failing=<nil>`, `maps "b" stopped failing=<nil>`,
			`pods "" stopped failing=<nil>`, `secrets "" stopped failing=<nil>`)
		runGroup(t, g)
		later(time.Hour + time.Millisecond)
		expect(
			`maps "a" watching failing=<nil>`, `maps "b" waiting failing=away`,
			`pods "" watching failing=<nil>`, `secrets "" waiting failing=away`)

		broken.Fail(nil)
		later(time.Minute)
		if err := g.Stop(t.Context(), "maps"); err != nil {
			t.Fatal(err)
		}
		expect(`pods "" watching failing=<nil>`, `secrets "" watching failing=<nil>`)
	})
}
