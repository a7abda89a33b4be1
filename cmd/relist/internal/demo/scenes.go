package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/cmd/relist/internal/churn"
)

// scene is one fault.
type scene struct {
	name, message string
	run           step
	repaired      string // what has helped
}

// step makes something happen, and returns when the client has met it.
type step func(context.Context, *demo) error

var scenes = []scene{
	{
		"cut connection", "first the stream breaks in the middle of an event, then the TCP connection",
		cutTwice, "resumed at the last version, without a list",
	},
	{
		"deletions while the watch is down", "the server refuses connections while objects are deleted",
		relist(inferredDeletions, away((*churn.Churner).Remove)), "deletions inferred from the list",
	},
	{
		"410 in the stream", "while the client is away, history is compacted",
		relist(inStream, away((*churn.Churner).Touch)), "listed at the last version",
	},
	{
		"410 as an HTTP status", "the watch is refused with 410, before any event",
		relist(toWatch, expire("watch")), "listed at the last version",
	},
	{
		"410 on the relist", "the watch is refused with 410, and so is the list at the last version",
		relist(toList, expire("watch", "list")), "listed the most recent state",
	},
	{
		"expired continue token", "between two pages of a list, the token for the second expires",
		relist(toToken, expire("watch", "list", "page")), "listed again, in one piece",
	},
	{
		"Too large resource version", "the client is moved to a replica that is behind what it has seen",
		relist(tooLarge, moveBehind), "listed the most recent state; the copy did not go back",
	},
	{
		"stalled connection", "a firewall drops its packets: nothing arrives any more, not even an error",
		meet(cuts, stalled), "found by pings",
	},
}

// meet takes a step, and waits until a count of the tally grows.
func meet(name string, do step) step {
	return func(ctx context.Context, d *demo) error {
		was := d.tally.count(name)
		if err := do(ctx, d); err != nil {
			return err
		}
		if err := until(ctx, func() bool { return d.tally.count(name) > was }); err != nil {
			return fmt.Errorf("%s: there are no more than %d: %w", name, was, err)
		}
		return nil
	}
}

// relist is meet for what makes the client list.
func relist(name string, do step) step { return meet(lists, meet(name, do)) }

// cutTwice first breaks the stream after 100 bytes, in the middle of the next event.
func cutTwice(ctx context.Context, d *demo) error {
	err := meet(cuts, func(context.Context, *demo) error {
		d.server.CutWatches(100)
		_, err := d.changes.Touch(1)
		return err
	})(ctx, d)
	if err != nil {
		return err
	}
	if err := d.server.WaitForWatches(ctx, churn.Resource, 1); err != nil {
		return err
	}
	return meet(cuts, func(context.Context, *demo) error {
		return errors.Join(d.server.Refuse(0), d.server.Resume()) //nolint:contextcheck // opening a local port takes no time that ctx could end
	})(ctx, d)
}

// away refuses connections, changes five objects once the client has noticed, and lets it come
// back. The window does not reach back to these changes, so that no watch can tell of them.
func away(change func(c *churn.Churner, n int) (string, error)) step {
	refuse := meet(refused, func(_ context.Context, d *demo) error {
		return d.server.Refuse(0) //nolint:contextcheck // closing one takes none, either
	})
	return func(ctx context.Context, d *demo) error {
		err := refuse(ctx, d)
		if err == nil {
			_, err = change(d.changes, 5)
			d.server.Compact()
		}
		return errors.Join(err, d.server.Resume()) //nolint:contextcheck // as above
	}
}

// expire cuts the watch, and answers the next request of each of these verbs with 410. A watch
// after a cut begins before the last events. If the server no longer has these, another watch
// begins behind them, so two watches are answered.
func expire(verbs ...string) step {
	return func(_ context.Context, d *demo) error {
		for _, verb := range verbs {
			count := map[string]int{"watch": 2}[verb] // zero is one
			if err := d.server.FailNext(apitest.Failure{
				Verb: verb, Resource: churn.Resource, Count: count,
				Status: http.StatusGone, Reason: metav1.StatusReasonExpired, Message: "The provided resource version is too old.",
			}); err != nil {
				return err
			}
		}
		d.server.CutWatches(0)
		return nil
	}
}

func moveBehind(ctx context.Context, d *demo) error {
	d.behind.Freeze()
	if err := d.touch(ctx, 5); err != nil {
		return err
	}
	d.server.Route(d.behind)
	return expire("watch")(ctx, d)
}

// stalled is found by the client's pings, and by nothing else: the server is well.
func stalled(_ context.Context, d *demo) error {
	d.server.HalfOpen()
	return nil
}
