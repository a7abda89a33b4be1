package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/cmd/relist/internal/churn"
	"github.com/relist-go/relist/object"
)

// scene is one fault.
type scene struct {
	server string // what the server does
	client string // what helps the client
	run    step
	stops  bool // the loop does not come out of this before the next scene, so that nobody waits for it
}

// step makes something happen, and returns when the client has met it.
type step func(context.Context, *demo) error

var scenes = []scene{
	{"cuts all streams in the middle of an event", "resumes where it was", meet("connectionLost", cut), false},
	{"sends an object that cannot be decoded, and mends it", "goes on, asks for it again", spoil, true},
	{"refuses connections, deletes 5 more objects, compacts", "lists, infers deletions", relist("inferred", away), false},
	{"answers the watch with 410, and the next list, too", "lists the newest state", relist("410 to list", expire("watch", "list")), false},
	{"answers so again, and lets a list expire between two pages", "lists again, in one piece", relist("410 to page", expire("watch", "list", "page")), false},
	{"moves clients to a replica that is behind and refuses watches", "lists, and never goes back", relist("504 to list", moveBehind), false},
	{"is restored from a backup, and reuses versions", "notices, lists, repairs", restore, false},
	{"goes silent: a firewall drops every packet", "notices by pings, resumes", meet("connectionLost", silence), true},
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
func relist(name string, do step) step { return meet("lists", meet(name, do)) }

func cut(_ context.Context, d *demo) error {
	d.server.CutWatches(100) // bytes
	_, err := d.changes.Touch(1)
	return err
}

// spoil writes a number where text has to be. The client asks for this object alone, and gets the
// same, while the others arrive: five deletions, and five updates. Once it is mended, the client
// has it, too.
func spoil(ctx context.Context, d *demo) error {
	const namespace, name = "team-0", "limits"
	err := meet("loop watches", meet("200 to one object", meet("problem: object", func(context.Context, *demo) error {
		_, err := d.server.Create(churn.Resource, map[string]any{
			"metadata": map[string]any{"namespace": namespace, "name": name}, "data": map[string]any{"limit": 7},
		})
		return err
	})))(ctx, d)
	if err == nil {
		_, err = d.changes.Remove(5)
	}
	if err == nil {
		err = d.touch(ctx, 5)
	}
	if err != nil {
		return err
	}
	d.since = time.Now()
	return meet("released", func(context.Context, *demo) error {
		_, err := d.server.Patch(churn.Resource, namespace, name, map[string]any{"data": map[string]any{"limit": "7"}})
		return err
	})(ctx, d)
}

// away refuses connections, deletes five objects once the client has noticed, and lets it come
// back. The window does not reach back to these deletions, so that no watch can tell of them.
func away(ctx context.Context, d *demo) error {
	err := meet("unreachable", func(context.Context, *demo) error {
		return d.server.Refuse(0) //nolint:contextcheck // closing a local port takes no time that ctx could end
	})(ctx, d)
	if err == nil {
		_, err = d.changes.Remove(5)
		d.server.Compact()
	}
	return errors.Join(err, d.server.Resume()) //nolint:contextcheck // opening one takes none, either
}

// expire cuts the watches, and answers the next request of each of these verbs with 410. The
// client's watch after a cut begins before the last events. If the server no longer has these,
// another watch begins behind them, so two watches are answered. The loop needs one, and no list.
func expire(verbs ...string) step {
	return func(_ context.Context, d *demo) error {
		fail := func(userAgent, verb string, count int) error {
			return d.server.FailNext(apitest.Failure{
				UserAgent: userAgent, Verb: verb, Resource: churn.Resource, Count: count, InStream: verb == "watch",
				Status: http.StatusGone, Reason: metav1.StatusReasonExpired, Message: "The provided resource version is too old.",
			})
		}
		err := fail(loopUserAgent, "watch", 1)
		for _, verb := range verbs {
			count := map[string]int{"watch": 2}[verb] // zero is one
			err = errors.Join(err, fail(userAgent, verb, count))
		}
		d.server.CutWatches(0)
		return err
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

// restore takes the server back before 30 updates and 10 deletions, and then changes more than it
// has undone. So every version that a client has seen is one of other objects now.
func restore(ctx context.Context, d *demo) error {
	backup := d.server.ResourceVersion()
	_, updated := d.changes.Touch(30)
	_, deleted := d.changes.Remove(10)
	if err := errors.Join(updated, deleted, d.touch(ctx, 1)); err != nil {
		return err
	}
	d.since = time.Now()
	return meet("lists", func(context.Context, *demo) error {
		newest, version := d.server.ResourceVersion(), backup
		// Nobody is let in before the versions have passed: a client that came earlier would be
		// told that its version is in the future.
		err := errors.Join(d.server.Refuse(0), d.server.Restore(apitest.Restore{ResourceVersion: backup})) //nolint:contextcheck // as above
		for err == nil && !object.Older(newest, version) {
			version, err = d.changes.Touch(50)
		}
		return errors.Join(err, d.server.Resume()) //nolint:contextcheck // as above
	})(ctx, d)
}

// silence is found by the client's pings, and by nothing else: the server is well.
func silence(_ context.Context, d *demo) error {
	d.server.HalfOpen()
	return nil
}
