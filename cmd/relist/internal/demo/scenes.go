package demo

import (
	"context"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/cmd/relist/internal/churn"
)

// scene is one fault. run makes it happen, and returns when the client has met it, with
// a note for the timeline; or why it was not met.
type scene struct {
	name    string
	message string
	run     func(ctx context.Context, d *demo) (note string, err error)
}

// scenes returns all of them, in order.
func scenes() []scene {
	return []scene{
		{"cut connection", "first the stream breaks in the middle of an event, then the TCP connection", cutConnection},
		{"deletions while the watch is down", "the server refuses connections, and objects are deleted meanwhile", deleteUnseen},
		{"410 in the stream", "while the client is away, history is compacted", compactInGap},
		{"410 as an HTTP status", "the watch is refused with 410, as servers under load do", refuseWatch},
		{"410 on the relist", "the watch is refused with 410, and so is the list at the last version", refuseList},
		{"expired continue token", "between two pages of a list, the token for the second expires", expireToken},
		{"Too large resource version", "the client is moved to a replica that is behind what it has seen", moveBehind},
		{"stalled connection", "a firewall forgets the connection: nothing arrives any more, and nobody says so", silence},
	}
}

// cutAfter is a number of bytes at which an event is cut in its middle: events of the
// demonstration have some 700.
const cutAfter = 100

func cutConnection(ctx context.Context, d *demo) (string, error) {
	before, _ := d.watcher.now()
	d.server.CutWatches(cutAfter)
	if err := d.touchUntil(ctx, "the stream to break", func(v view) bool { return v.cuts > before.cuts }); err != nil {
		return "", err
	}
	if err := d.await(ctx, "the next watch", live); err != nil {
		return "", err
	}
	d.network.cut()
	if err := d.await(ctx, "the connection to break", func(v view) bool { return v.cuts > before.cuts+1 }); err != nil {
		return "", err
	}
	return "went on at the last version, without a list", nil
}

// deleteUnseen leaves it to the list to find out what was deleted: the window does not
// reach back to the deletions, so that no watch can tell.
func deleteUnseen(ctx context.Context, d *demo) (string, error) {
	before, _ := d.watcher.now()
	if err := d.whileAway(ctx, func() error {
		if _, err := d.changes.Remove(unseen); err != nil {
			return err
		}
		d.server.Compact()
		return nil
	}); err != nil {
		return "", err
	}
	if err := d.await(ctx, "tombstones", func(v view) bool { return v.tombstones > before.tombstones }); err != nil {
		return "", err
	}
	if err := d.await(ctx, "the next watch", live); err != nil {
		return "", err
	}
	after, _ := d.watcher.now()
	return fmt.Sprintf("%d deletions inferred from the list", after.tombstones-before.tombstones), nil
}

// unseen is how many objects are deleted while the client is away.
const unseen = 5

func compactInGap(ctx context.Context, d *demo) (string, error) {
	before, _ := d.watcher.now()
	if err := d.whileAway(ctx, func() error {
		if _, err := d.changes.Touch(unseen); err != nil {
			return err
		}
		d.server.Compact()
		return nil
	}); err != nil {
		return "", err
	}
	return "", d.await(ctx, "a 410 in the stream", func(v view) bool { return v.inStream > before.inStream })
}

// whileAway refuses connections, does something once the client has noticed, and lets
// it come back.
func (d *demo) whileAway(ctx context.Context, do func() error) error {
	before, _ := d.watcher.now()
	if err := d.server.Refuse(0); err != nil { //nolint:contextcheck // opening a local port takes no time that ctx could end
		return fmt.Errorf("refuse connections: %w", err)
	}
	err := d.await(ctx, "a refused connection", func(v view) bool { return v.unreachable > before.unreachable })
	if err == nil {
		err = do()
	}
	if resumeErr := d.server.Resume(); err == nil && resumeErr != nil { //nolint:contextcheck // opening a local port takes no time that ctx could end
		err = fmt.Errorf("accept connections again: %w", resumeErr)
	}
	return err
}

func refuseWatch(ctx context.Context, d *demo) (string, error) {
	before, _ := d.watcher.now()
	if err := d.failNext("watch"); err != nil {
		return "", err
	}
	d.server.CutWatches(0)
	return "listed at the last version", d.await(ctx, "a 410 on the watch", func(v view) bool { return v.asStatus > before.asStatus })
}

func refuseList(ctx context.Context, d *demo) (string, error) {
	before, _ := d.watcher.now()
	if err := d.failNext("watch", "list"); err != nil {
		return "", err
	}
	d.server.CutWatches(0)
	return "listed the most recent state", d.await(ctx, "a 410 on the list", func(v view) bool { return v.onList > before.onList })
}

// expireToken needs a list in pages, and so one of the most recent state.
func expireToken(ctx context.Context, d *demo) (string, error) {
	before, _ := d.watcher.now()
	d.pages.afterFirst(d.server.ExpireContinue)
	if err := d.failNext("watch", "list"); err != nil {
		return "", err
	}
	d.server.CutWatches(0)
	return "listed again, in one piece", d.await(ctx, "a 410 on a continue token", func(v view) bool { return v.tokenExpired > before.tokenExpired })
}

func moveBehind(ctx context.Context, d *demo) (string, error) {
	before, _ := d.watcher.now()
	d.behind.Freeze()
	defer d.behind.Unfreeze()
	rv, err := d.changes.Touch(unseen)
	if err != nil {
		return "", err
	}
	if err := d.await(ctx, "version "+rv+" to arrive", func(v view) bool { return v.has(rv) }); err != nil {
		return "", err
	}
	if err := d.failNext("watch"); err != nil {
		return "", err
	}
	d.server.Route(d.behind)
	d.server.CutWatches(0)
	if err := d.await(ctx, "a Too large resource version", func(v view) bool { return v.tooLarge > before.tooLarge }); err != nil {
		return "", err
	}
	return "listed the most recent state; the copy did not go back", d.await(ctx, "the next watch", live)
}

// silence is found by the client's pings, and by nothing else: the server is well.
func silence(ctx context.Context, d *demo) (string, error) {
	before, _ := d.watcher.now()
	gone := d.network.givenUp.Load()
	d.network.silence()
	if err := d.await(ctx, "the client to notice", func(v view) bool { return v.cuts > before.cuts }); err != nil {
		return "", err
	}
	if err := d.await(ctx, "the next watch", live); err != nil {
		return "", err
	}
	if d.network.givenUp.Load() == gone {
		return "", fmt.Errorf("the watch ended, but not because the connection was given up")
	}
	return "found by pings", nil
}

// failNext answers the next request of each of these verbs with 410. A watch after a cut begins before the last events. If the server
// no longer has these, another watch begins behind them, so two watches are answered.
func (d *demo) failNext(verbs ...string) error {
	for _, verb := range verbs {
		count := 1
		if verb == "watch" {
			count = 2
		}
		if err := d.server.FailNext(apitest.Failure{
			Verb:     verb,
			Count:    count,
			Resource: churn.Resource,
			Status:   http.StatusGone,
			Reason:   metav1.StatusReasonExpired,
			Message:  "The resourceVersion for the provided " + verb + " is too old.",
		}); err != nil {
			return err
		}
	}
	return nil
}

// touchUntil changes an object and waits; what it waits for needs something to be sent.
func (d *demo) touchUntil(ctx context.Context, what string, wanted func(view) bool) error {
	if _, err := d.changes.Touch(1); err != nil {
		return err
	}
	return d.await(ctx, what, wanted)
}
