package informer_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/reflector"
)

// A group is ready when every member has its first list, and stays ready if the server is away
// later. It lives until its Run ends.
func TestGroupHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := informer.NewGroup()
		expect := func(path, want string) {
			t.Helper()
			answer := httptest.NewRecorder()
			g.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
			if got := fmt.Sprintf("%d %s", answer.Code, answer.Body); got != want+"\n" {
				t.Errorf("%s: %s, want %s", path, got, want)
			}
		}
		expect("/livez", "200 ok")
		refused, town := newFake("s"), newTown("a/x", "b/x")
		refused.Fail(errors.New("no\nrole"))
		town.in("b").Fail(errors.New("away"))
		town.in("a").Fail(errors.New("away"))
		multi := newMultiRig(t, town, informer.Options[*thing]{})
		multi.begin("a", "b")
		join(t, g, "pods", follow(newFake("a"), informer.Options[*thing]{}))
		join(t, g, "secrets", struct{ *informer.Informer[*thing] }{follow(refused, informer.Options[*thing]{
			Reflector: reflector.Options{Rand: func() float64 { return 0 }},
		})})
		join(t, g, "maps", multi)
		join(t, g, "own", sleeper{})
		expect("/readyz", "503 maps a: Run was not called\nmaps b: Run was not called\nown: context canceled\npods: Run was not called\nsecrets: Run was not called")

		ctx, stop := context.WithCancel(t.Context())
		done := inBackground(func() error { return g.Run(ctx) })
		town.in("a").Fail(nil)
		later(time.Hour)
		const failing = ": the next request is sent in 5.6s; requests have failed for 1h0m0s, the last one 24.4s ago: "
		expect("/readyz", "503 maps b"+failing+"away\nown: context canceled\nsecrets"+failing+"no role")
		expect("/livez", "200 ok")

		refused.Fail(nil)
		town.in("b").Fail(nil)
		if err := g.Stop(t.Context(), "own"); err != nil {
			t.Error(err)
		}
		later(10 * time.Minute)
		expect("/readyz", "200 ok")
		refused.Fail(errors.New("away"))
		refused.Cut()
		later(time.Hour)
		expect("/readyz", "200 ok")

		stop()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		expect("/livez", "503 the group has ended")
		expect("/readyz", "503 the group has ended")
	})
}

// sleeper is a member that never syncs.
type sleeper struct{ lister }

func (sleeper) WaitForSync(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
