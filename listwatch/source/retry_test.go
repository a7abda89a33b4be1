package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/internal/option"
	"github.com/relist-go/relist/object"
)

// streams answers watch requests in order, and records the time and the version
// of each. After the last one it waits until the context ends.
type streams struct {
	script
	begin   time.Time
	answers [][]any // events, idle times and, last, an error; a lone error refuses the request
	opened  []string
	open    int
}

func (s *streams) Watch(ctx context.Context, opts metav1.ListOptions) (Watch[string], error) {
	s.opened = append(s.opened, fmt.Sprintf("%v from %s", time.Since(s.begin), opts.ResourceVersion))
	if !opts.AllowWatchBookmarks {
		s.opened = append(s.opened, "without bookmarks")
	}
	if len(s.answers) == 0 {
		s.open++
		return &canned{ctx: ctx, s: s}, nil
	}
	answer := s.answers[0]
	s.answers = s.answers[1:]
	if err, ok := answer[0].(error); ok && len(answer) == 1 {
		return nil, err
	}
	s.open++
	return &canned{ctx: ctx, s: s, rest: answer}, nil
}

type canned struct {
	ctx  context.Context //nolint:containedctx // set by the call whose stream it is
	s    *streams
	rest []any
}

func (c *canned) Next() (Event[string], error) {
	if len(c.rest) == 0 {
		<-c.ctx.Done()
		return Event[string]{}, c.ctx.Err()
	}
	next := c.rest[0]
	c.rest = c.rest[1:]
	switch next := next.(type) {
	case time.Duration: // of idleness
		<-time.After(next)
		return c.Next()
	case error:
		return Event[string]{}, next
	default:
		return next.(Event[string]), nil
	}
}

func (c *canned) Close() error {
	c.s.open--
	return nil
}

func at(version string) Event[string] {
	return Event[string]{Type: object.Modified, Object: "a", Meta: object.Meta{Key: "a", ResourceVersion: version}}
}

func bookmarkAt(version string) Event[string] {
	return Event[string]{Type: object.Bookmark, Meta: object.Meta{ResourceVersion: version}}
}

func refused(code int32, reason metav1.StatusReason, retryAfter int32) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Code: code, Reason: reason, Details: &metav1.StatusDetails{RetryAfterSeconds: retryAfter},
	}}
}

func TestRetryWatcher(t *testing.T) {
	expired := refused(http.StatusGone, metav1.StatusReasonExpired, 0)
	for name, test := range map[string]struct {
		answers   [][]any
		bookmarks bool
		events    []string
		opened    []string
		end       func(error) bool // nil: the watcher continues
	}{
		"orderly end, cut and reset": {
			[][]any{{at("11"), io.EOF}, {at("12"), io.ErrUnexpectedEOF}, {at("13"), syscall.ECONNRESET}},
			false,
			[]string{"11", "12", "13"},
			[]string{"0s from 10", "1s from 11", "2s from 12", "3s from 13"},
			nil,
		},
		"a long stream is resumed at once": {
			[][]any{{at("11"), time.Minute, io.EOF}},
			false,
			[]string{"11"},
			[]string{"0s from 10", "1m0s from 11"},
			nil,
		},
		"hidden bookmarks move the version": {
			[][]any{{bookmarkAt("50"), io.EOF}},
			false, nil,
			[]string{"0s from 10", "1s from 50"},
			nil,
		},
		"bookmarks asked for": {
			[][]any{{bookmarkAt("50"), io.EOF}},
			true,
			[]string{"50"},
			[]string{"0s from 10", "1s from 50"},
			nil,
		},
		"the version never goes back": {
			[][]any{{at("11"), bookmarkAt("9"), at(""), bookmarkAt("abc"), io.EOF}},
			false,
			[]string{"11", ""},
			[]string{"0s from 10", "1s from 11"},
			nil,
		},
		"nothing comes: the gap doubles": {
			[][]any{{syscall.ECONNREFUSED}, {io.EOF}, {io.EOF, io.EOF}},
			false, nil,
			[]string{"0s from 10", "1s from 10", "3s from 10", "7s from 10"},
			nil,
		},
		"410 as the answer": {[][]any{{expired}}, false, nil, []string{"0s from 10"}, apierrors.IsResourceExpired},
		"410 in the stream": {[][]any{{at("11"), expired}}, false, []string{"11"}, []string{"0s from 10"}, apierrors.IsResourceExpired},
		"410 without a reason": {
			[][]any{{at("11"), refused(http.StatusGone, "", 0)}}, false, []string{"11"}, []string{"0s from 10"}, apierrors.IsGone,
		},
		"forbidden": {
			[][]any{{refused(http.StatusForbidden, metav1.StatusReasonForbidden, 0)}},
			false, nil,
			[]string{"0s from 10"},
			apierrors.IsForbidden,
		},
		"429 with Retry-After": {
			[][]any{{refused(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, 7)}},
			false, nil,
			[]string{"0s from 10", "7s from 10"},
			nil,
		},
		"Retry-After in the stream": {
			[][]any{{at("11"), refused(http.StatusInternalServerError, metav1.StatusReasonInternalError, 5)}},
			false,
			[]string{"11"},
			[]string{"0s from 10", "5s from 11"},
			nil,
		},
		"500 and 504": {
			[][]any{{refused(500, "", 0)}, {refused(504, metav1.StatusReasonTimeout, 0)}},
			false, nil,
			[]string{"0s from 10", "1s from 10", "3s from 10"},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lw := &streams{begin: time.Now(), answers: test.answers}
				w, err := NewRetryWatcher(t.Context(), lw, metav1.ListOptions{ResourceVersion: "10"},
					RetryOptions{Bookmarks: test.bookmarks, Rand: func() float64 { return 0 }})
				must.OK(t, err)
				var events []string
				done := make(chan error)
				go func() {
					for {
						event, err := w.Next()
						if err != nil {
							done <- err
							return
						}
						events = append(events, event.Meta.ResourceVersion)
					}
				}()
				if test.end == nil {
					<-time.After(time.Hour) // virtual
					synctest.Wait()
					if err := w.Close(); err != nil {
						t.Error(err)
					}
				}
				end := <-done
				if test.end == nil && !errors.Is(end, context.Canceled) || test.end != nil && !test.end(end) {
					t.Errorf("the watcher ended with %v", end)
				}
				if _, again := w.Next(); !errors.Is(again, end) {
					t.Errorf("the next Next returned %v, want %v", again, end)
				}
				if !slices.Equal(events, test.events) {
					t.Errorf("events at %q, want %q", events, test.events)
				}
				if !slices.Equal(lw.opened, test.opened) {
					t.Errorf("streams opened\n%q, want\n%q", lw.opened, test.opened)
				}
				if lw.open != 0 {
					t.Errorf("%d streams are left open", lw.open)
				}
			})
		})
	}
}

// The longest gap that a program can ask for does not become none when the random part is added.
func TestLongestGapOfARetryWatcher(t *testing.T) {
	w, err := NewRetryWatcher(t.Context(), &streams{}, metav1.ListOptions{ResourceVersion: "10"}, RetryOptions{
		MinGap: math.MaxInt64, Rand: func() float64 { return 0.999 },
	})
	must.OK(t, err)
	defer w.Close()
	for range 3 {
		if w.ended(io.EOF); w.gap < option.Longest {
			t.Errorf("the gap is %v, want %v at least", w.gap, option.Longest)
		}
	}
}

func TestRetryWatcherNeedsAVersion(t *testing.T) {
	for _, version := range []string{"", "0"} {
		if _, err := NewRetryWatcher(t.Context(), &streams{}, metav1.ListOptions{ResourceVersion: version}, RetryOptions{}); !errors.Is(err, errNoStart) {
			t.Errorf("from %q: %v, want errNoStart", version, err)
		}
	}
}
