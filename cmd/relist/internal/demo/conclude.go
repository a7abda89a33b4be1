package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/relist-go/relist/cmd/relist/internal/churn"
	"github.com/relist-go/relist/cmd/relist/internal/mirror"
	"github.com/relist-go/relist/internal/cli/report"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/store"
)

// truth is what the server holds, read from its memory and not through the API: a
// mistake of the client cannot be in both.
func (d *demo) truth() (*store.Store[*unstructured.Unstructured], error) {
	items, rv, err := d.server.List(churn.Resource, "")
	if err != nil {
		return nil, fmt.Errorf("read the server's objects: %w", err)
	}
	objects := make([]*unstructured.Unstructured, len(items))
	for i, item := range items {
		objects[i] = &unstructured.Unstructured{Object: item}
	}
	all := store.New(store.Options[*unstructured.Unstructured]{})
	if err := all.Replace(objects, rv); err != nil {
		return nil, fmt.Errorf("read the server's objects: %w", err)
	}
	return all, nil
}

// settle waits until the mirror holds what the server does, now that nothing changes.
func (d *demo) settle(ctx context.Context) error {
	truth, err := d.truth()
	if err != nil {
		return err
	}
	digest := mirror.Digest(truth.All())
	return d.await(ctx, "the mirror to match", func(view) bool {
		return d.mirror.Store().Len() == truth.Len() && mirror.Digest(d.mirror.Store().All()) == digest
	})
}

// conclude compares, prints the result, and returns an error unless all is well. played
// is why the scenes ended early, if they did. When someone interrupts them the mirror is
// stopped on its way, and a comparison would say nothing.
func (d *demo) conclude(played error) error {
	truth, err := d.truth()
	if err != nil {
		return err
	}
	interrupted := errors.Is(played, context.Canceled)
	summary := d.mirror.Summary()
	v, _ := d.watcher.now()
	p50, p99 := d.lag.quantiles()
	result := report.Result{
		Interrupted:     interrupted,
		Faults:          d.states(),
		Objects:         summary.Objects,
		Lists:           summary.Lists,
		Watches:         summary.Watches,
		Bookmarks:       summary.Bookmarks,
		Expired:         v.inStream + v.asStatus + v.onList + v.tokenExpired,
		TooLarge:        v.tooLarge,
		Tombstones:      summary.Tombstones,
		Events:          v.events,
		EventsPerSecond: d.lag.rate(v.events),
		LagP50Seconds:   report.Seconds(p50),
		LagP99Seconds:   report.Seconds(p99),
	}
	if !interrupted {
		result.Differences = differences(truth, d.mirror.Store())
		result.Matches = len(result.Differences) == 0
	}
	d.opts.Out.Progress("")
	if d.opts.Verbose {
		d.opts.Out.Print(summary)
	}
	d.opts.Out.Print(result)
	if played != nil {
		return fmt.Errorf("stopped early: %w", played)
	}
	if !result.Matches || slices.ContainsFunc(result.Faults, func(f report.FaultState) bool { return !f.Met }) {
		return ErrFailed
	}
	return nil
}

// states returns every fault, with those that were not come to.
func (d *demo) states() []report.FaultState {
	states := slices.Clone(d.faults)
	for _, s := range scenes()[len(states):] {
		states = append(states, report.FaultState{Name: s.name})
	}
	return states
}

// differences names every key that is not the same on both sides, in key order.
func differences(server *store.Store[*unstructured.Unstructured], copied *store.Store[*listwatch.Raw]) []string {
	var found []string
	for key, want := range server.All() {
		got, ok := copied.Get(key)
		switch {
		case !ok:
			found = append(found, key+": missing from the mirror")
		case got.GetUID() != want.GetUID():
			found = append(found, fmt.Sprintf("%s: the mirror has the UID %s, the server %s", key, got.GetUID(), want.GetUID()))
		case got.GetResourceVersion() != want.GetResourceVersion():
			found = append(found, fmt.Sprintf("%s: the mirror is at %s, the server at %s", key, got.GetResourceVersion(), want.GetResourceVersion()))
		}
	}
	for key := range copied.All() {
		if _, ok := server.Get(key); !ok {
			found = append(found, key+": the mirror has it, the server does not")
		}
	}
	slices.Sort(found)
	return found
}
