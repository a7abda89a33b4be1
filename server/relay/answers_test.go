package relay

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/internal/must"
)

// get sends a request with a token, and returns the status code, or the error.
func (b bearing) get(ctx context.Context) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/api/v1/pods?resourceVersion=0", nil)
	if err != nil {
		return err.Error()
	}
	resp, err := (&http.Client{Transport: b}).Do(req)
	if err != nil {
		return "error"
	}
	_ = resp.Body.Close()
	return fmt.Sprint(resp.StatusCode)
}

// TestEqualQuestions shows that what many ask at once is asked once, and that one who hangs up
// takes the answer from nobody else.
func TestEqualQuestions(t *testing.T) {
	t.Parallel()
	guarded(t, Options{}, func(r *rig, a *authority) {
		a.set(func() { a.slow = 5 * time.Second })
		asked := a.questions()
		var all sync.WaitGroup
		for i := range 1000 {
			all.Go(func() {
				ctx, want := r.Context(), "200"
				if i%10 == 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, time.Duration(i)*10*time.Millisecond+time.Millisecond)
					defer cancel()
					want = "error"
				}
				if got := (bearing{"t-alice", r.http.Transport}).get(ctx); got != want {
					t.Errorf("request %d: %s, want %s", i, got, want)
				}
			})
		}
		all.Wait()
		if n := a.questions() - asked; n != 2 {
			t.Errorf("1,000 requests at once with one token asked %d reviews, want 2", n)
		}
	})
}

// TestComplaints shows that the operator is told once a minute that nobody knows who readers are,
// or what they may do, however many come.
func TestComplaints(t *testing.T) {
	t.Parallel()
	user, right, told := errors.New("no user"), errors.New("no right"), []string(nil)
	var unknown error // who the reader is
	opts := Options{
		Authenticate: func(*http.Request) (*User, error) { return &User{Name: "alice"}, unknown },
		Authorize:    func(context.Context, *User, Attributes) (Decision, error) { return Decision{}, right },
		OnProblem:    func(err error) { told = append(told, err.Error()) },
	}
	play(t, opts, func(r *rig) {
		for range 90 { // for a minute and a half
			for _, unknown = range []error{nil, user} {
				if got := r.get("/api/v1/pods"); got.code != http.StatusServiceUnavailable {
					t.Fatal(got)
				}
			}
			later(time.Second)
		}
	})
	once := []string{"relay: find out what a reader may do: no right", "relay: find out who a reader is: no user"}
	if want := slices.Repeat(once, 2); !slices.Equal(told, want) {
		t.Errorf("180 requests without an answer: the operator is told %d times: %q", len(told), told)
	}
}

// TestQuestionsOfOpenWatches counts what open watches ask: those of one reader ask as much as one,
// and those of many readers who came together do not ask together, whoever answers them.
func TestQuestionsOfOpenWatches(t *testing.T) {
	t.Parallel()
	const cached, forwarded = "application/json", "application/json;as=Table;g=meta.k8s.io;v=v1"
	for _, tt := range []struct {
		form                 string
		readers, all, second int
	}{
		{cached, 1, 2 * 10, 2},                // a token and a right for each minute
		{cached, 60, 2 * 10 * 60, 2 * 60 / 3}, // in some of ten seconds
		{forwarded, 60, 2 * 10 * 60, 2 * 60 / 3},
	} {
		guarded(t, Options{}, func(r *rig, a *authority) {
			a.set(func() {
				for i := range tt.readers {
					a.tokens[fmt.Sprint(i)] = fmt.Sprint(i)
					a.rights[fmt.Sprint(i, " * * * *")] = ""
				}
			})
			connections := r.http.Transport
			for i := range 60 {
				r.http.Transport = bearing{fmt.Sprint(i % tt.readers), roundTrip(func(req *http.Request) (*http.Response, error) {
					req.Header.Set("Accept", tt.form)
					return connections.RoundTrip(req)
				})}
				r.watch("resourceVersion=3&timeoutSeconds=7200")
			}
			r.http.Transport = connections
			a.set(func() { a.slow = 300 * time.Millisecond })
			before, last, worst := a.questions(), a.questions(), 0
			for range 10 * 60 {
				later(time.Second)
				worst, last = max(worst, a.questions()-last), a.questions()
			}
			if all := a.questions() - before; all > tt.all || worst > tt.second {
				t.Errorf("60 watches (%s) of %d readers asked %d reviews in ten minutes, and %d in one second; want %d and %d", tt.form, tt.readers, all, worst, tt.all, tt.second)
			}
		})
	}
}

// TestManyQuestions shows that what is remembered is bounded, and that a stranger cannot make the
// relay forget its readers.
func TestManyQuestions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answers, asked := newAnswers[string](time.Minute, time.Minute), 0
		ask := func(name string) {
			_, err := answers.to(t.Context(), []byte(name), func(context.Context) (string, bool, error) {
				asked++
				return name, name == "alice", nil
			})
			must.OK(t, err)
		}
		ask("alice")
		for i := range maxRemembered + 10 {
			ask(fmt.Sprint("x", i))
		}
		if n := len(answers.no.all); n > maxRemembered {
			t.Errorf("%d answers are remembered", n)
		}
		before := asked
		if ask("alice"); asked != before {
			t.Error("the server was asked for alice again")
		}
	})
}
