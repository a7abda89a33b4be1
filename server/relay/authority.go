package relay

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// The relay's authority over answers that are on their way. server/relay/README.md has these rules
// as a table, and TestAuthorityInTime plays it.
//
//  1. Before anything is sent, a request asks who its reader is and what they may. Answers are
//     remembered for a time, which begins with the question.
//  2. A list or an object is asked about once. It is made some seconds later at most, unless the API
//     server makes it and takes longer, and is sent within [answerTimeout].
//  3. A watch asks again when its last question is older than [recheck]: while it is idle, and before
//     each write. So what is made after a no is not written, however slowly the reader reads.
//  4. While a question has no answer, events go on for [unsure] after the last yes. Then they wait
//     for the next yes, whether the API server is away, there, or both in turn.
//  5. A watch ends if its type is gone (404), if it is told no (401 or 403), or if nobody has answered
//     for the time unsure (503). The time in which the API server is away does not count: nothing
//     new comes then.
const (
	// recheck is how often an open watch asks whether its reader still has the right.
	recheck = 10 * time.Second

	// unsure is how old the last yes to an open watch may be. It takes up to 90 seconds to notice
	// that a connection to the upstream is dead.
	unsure = 2 * time.Minute

	// answerTimeout is how long a reader may take for a whole list, as at kube-apiserver.
	answerTimeout = time.Minute
)

// A guard stands between an open watch and its reader. It is for one goroutine at a time.
type guard struct {
	relay *Relay
	user  *User
	req   *http.Request // its context ends with the watch
	a     Attributes
	u     *upstream

	asked time.Time     // when the last question ended
	yes   time.Time     // when the last question that was answered with yes ended
	away  time.Duration // of the time since then in which the API server was away
}

// newGuard returns the guard of a request that was allowed just now. Its first question comes early
// by chance, so that the questions of readers who come together do not stay together.
func (r *Relay) newGuard(req *http.Request, user *User, a Attributes, u *upstream) *guard {
	now := time.Now()
	return &guard{relay: r, user: user, req: req, a: a, u: u, yes: now, asked: now.Add(-rand.N(recheck))}
}

// ready waits until an event may be written. It flushes what was written before, which also lifts
// the deadline. Its errors are those of due and flush.
func (g *guard) ready(flush func() error) error {
	for {
		if err := g.due(); err != nil {
			return err
		}
		if time.Since(g.yes) < unsure {
			return nil
		}
		if err := flush(); err != nil {
			return err
		}
		select {
		case <-time.After(g.untilDue()):
		case <-g.req.Context().Done():
		case <-g.relay.done:
			return context.Canceled
		}
	}
}

// due asks, if it is time to. It returns the error that ends the watch: an [apierrors.APIStatus] is
// for the reader, and any other means that nobody reads any more.
func (g *guard) due() error {
	ctx := g.req.Context()
	if err := ctx.Err(); err != nil || g.untilDue() > 0 {
		return err
	}
	if err := g.u.gone(); err != nil {
		return err
	}
	err := g.ask(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	now := time.Now()
	_, failing := g.u.reflector.Status().Failing()
	switch {
	case err == nil:
		g.yes, g.away = now, 0
	case apierrors.IsUnauthorized(err), apierrors.IsForbidden(err):
		return err
	case failing != nil:
		g.away += now.Sub(g.asked)
	case now.Sub(g.yes)-g.away >= unsure:
		return apierrors.NewServiceUnavailable("the relay cannot find out whether you may go on")
	}
	g.asked = now
	return nil
}

func (g *guard) untilDue() time.Duration { return recheck - time.Since(g.asked) }

// ask asks who the reader is now, and what they may.
func (g *guard) ask(ctx context.Context) error {
	user, err := g.relay.opts.Authenticate(g.req)
	if err != nil {
		return errUnknown // an error of the API server is about the relay, even if it is a 401 or a 403
	}
	if user == nil || user.Name != g.user.Name || user.UID != g.user.UID {
		return apierrors.NewUnauthorized("Unauthorized")
	}
	d, err := g.relay.opts.Authorize(ctx, user, g.a)
	return refusal(user, g.a, d, err)
}
