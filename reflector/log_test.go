package reflector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/protocol"
)

// logBook is what a logger has written since the last call of take. Only the reflector's goroutine
// writes to it, and the test reads while that is idle.
type logBook struct{ bytes.Buffer }

// logger writes lines without their time.
func (b *logBook) logger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(&b.Buffer, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
}

// expect compares what was written since the last call.
func (b *logBook) expect(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	got := b.String()
	b.Reset()
	if want := strings.Join(append(want, ""), "\n"); got != want {
		t.Errorf("log has\n%swant\n%s", got, want)
	}
}

// logRig is a reflector whose log is the book.
func logRig(t *testing.T, level slog.Level) (*rig, *logBook) {
	t.Helper()
	book := &logBook{}
	return newRig(t, Options{Trace: LogTrace(book.logger(level))}), book
}

// refuseFor refuses connections until a time has passed, and returns how many requests there were.
func (r *rig) refuseFor(d time.Duration) int {
	until := time.After(d)
	for n := 0; ; {
		select {
		case <-until:
			return n
		case <-r.fake.asked:
			n++
		case r.fake.watches <- watchAnswer{err: &os.SyscallError{Syscall: "connect", Err: syscall.ECONNREFUSED}}:
		case r.fake.lists <- listAnswer{err: &os.SyscallError{Syscall: "connect", Err: syscall.ECONNREFUSED}}:
		}
	}
}

const listedFirst = `level=INFO msg="relist: listed" reason=first objects=2 took=0s resourceVersion=10`

// scoped is a ListWatcher that says what it lists, as a listwatch.Client does.
type scoped struct {
	source.ListWatcher[string]
	resource, namespace string
}

func (s scoped) Scope() (resource, namespace string) { return s.resource, s.namespace }

// A program may have many reflectors, so each line says which resource it is about, also after a
// second Run.
func TestLogNamesTheResource(t *testing.T) {
	for _, tt := range []struct{ resource, namespace, want string }{
		{"deployments.apps", "shop", ` resource=deployments.apps namespace=shop`},
		{"pods", "", ` resource=pods`},
		{"", "", ``},
	} {
		synctest.Test(t, func(t *testing.T) {
			book := &logBook{}
			r := &rig{t: t, fake: newFake(), sink: &notes{fail: map[string]error{}}}
			r.Reflector = New(scoped{r.fake, tt.resource, tt.namespace}, r.sink, Options{Trace: LogTrace(book.logger(slog.LevelDebug)), Rand: func() float64 { return 0 }})
			r.run()
			r.synced()
			book.expect(t,
				`level=DEBUG msg="relist: list"`+tt.want+` resourceVersion=0 limit=500`,
				`level=INFO msg="relist: listed"`+tt.want+` reason=first objects=2 took=0s resourceVersion=10`,
				`level=DEBUG msg="relist: synced"`+tt.want,
				`level=DEBUG msg="relist: watch"`+tt.want+` resourceVersion=10 timeout=5m0s initial=false`,
				`level=DEBUG msg="relist: watch is open"`+tt.want)
			_ = r.end()
			r.run()
			r.fake.open()
			synctest.Wait()
			if n, lines := strings.Count(book.String(), " resource="), strings.Count(book.String(), "\n"); tt.want != "" && n != lines {
				t.Errorf("%d of %d lines name a resource:\n%s", n, lines, book)
			}
			_ = r.end()
		})
	}
}

func TestLogOfAnOutageHasALineAtEachEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, book := logRig(t, slog.LevelInfo)
		s := r.synced()
		book.expect(t, listedFirst)

		later(30 * time.Second)
		s.events <- io.ErrUnexpectedEOF
		if n := r.refuseFor(time.Hour); n < 500 {
			t.Fatalf("%d requests in an hour of outage; the log is to be shorter than that", n)
		}
		book.expect(t, `level=WARN msg="relist: failing" reason=unreachable error="connect: connection refused" delay=800ms`)

		r.fake.watches <- watchAnswer{err: statusErr(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, 0)}
		r.fake.watches <- watchAnswer{err: &os.SyscallError{Syscall: "connect", Err: syscall.ECONNREFUSED}}
		r.fake.watches <- watchAnswer{err: statusErr(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, 0)}
		book.expect(t, `level=WARN msg="relist: still failing" reason=unavailable error=message delay=3.333s for=1h0m0s`)

		s = r.fake.open()
		book.expect(t) // an API server accepts a watch, and says only then that the version is gone
		later(30 * time.Second)
		s.event(object.Bookmark, "", "12")
		book.expect(t, `level=WARN msg="relist: recovered" after=1h0m10s delays=1088`)
		s.event(object.Added, "c", "13")
		book.expect(t)
	})
}

// An API server says in the stream that a version is gone. So the watch that is open first after a
// long outage brings nothing, and the copy is as old as before until the list has come.
func TestLogOfAnOutageThatIsLongerThanTheServerRemembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, book := logRig(t, slog.LevelInfo)
		s := r.synced()
		later(30 * time.Second)
		s.events <- io.ErrUnexpectedEOF
		r.refuseFor(time.Hour)
		book.expect(t, listedFirst, `level=WARN msg="relist: failing" reason=unreachable error="connect: connection refused" delay=800ms`)
		s = r.fake.open()
		s.events <- gone()
		book.expect(t)
		later(20 * time.Second) // the watch that is refused after the list is not the one that was open
		r.fake.page("20", "a")
		book.expect(t, `level=INFO msg="relist: listed" reason=expired objects=1 took=20s resourceVersion=20`)
		r.fake.watches <- watchAnswer{err: &os.SyscallError{Syscall: "connect", Err: syscall.ECONNREFUSED}}
		book.expect(t)
		r.fake.open()
		synctest.Wait()
		if got := book.String(); !strings.HasPrefix(got, `level=WARN msg="relist: recovered" after=1h`) || strings.Count(got, "\n") != 1 {
			t.Errorf("log has %q, want that it is over", got)
		}
	})
}

// A server may send no bookmarks, and a resource may be quiet. Then the watch has nothing to show
// but its age.
func TestLogOfAnOutageOfAQuietResource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, book := logRig(t, slog.LevelWarn)
		r.synced2()
		r.fake.watches <- watchAnswer{err: &os.SyscallError{Syscall: "connect", Err: syscall.ECONNREFUSED}}
		s := r.fake.open()
		later(30 * time.Second)
		s.events <- io.EOF
		r.fake.open()
		book.expect(t,
			`level=WARN msg="relist: failing" reason=unreachable error="connect: connection refused" delay=800ms`,
			`level=WARN msg="relist: recovered" after=800ms delays=1`)
	})
}

// The program of the README said nothing if it was refused.
func TestLogSaysWhatKeepsTheFirstListAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, book := logRig(t, slog.LevelInfo)
		for range 100 {
			r.fake.lists <- listAnswer{err: fmt.Errorf("list configmaps: %w", statusErr(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, 0))}
		}
		book.expect(t, `level=WARN msg="relist: failing" reason=denied error="list configmaps: message" delay=800ms`)
		r.fake.page("10", "a", "b")
		book.expect(t, listedFirst) // the watch may be refused, so it is not over
		r.fake.open()
		book.expect(t, `level=WARN msg="relist: recovered" after=46m35.6s delays=100`)
	})
}

// A type may have lists and no watch. If its lists have no version either, each refusal leads to a
// list.
func TestLogOfWatchesThatAreAlwaysRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, version := range []string{"", "10"} {
			r, book := logRig(t, slog.LevelWarn)
			for range 20 {
				select {
				case r.fake.lists <- listAnswer{page: &source.Page[string]{Items: []string{"a", "b"}, ResourceVersion: version}}:
				case r.fake.watches <- watchAnswer{err: statusErr(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, 0)}:
				}
			}
			synctest.Wait()
			if want := `level=WARN msg="relist: failing" reason=failed error=message delay=800ms` + "\n"; strings.Count(book.String(), want) != 1 {
				t.Errorf("lists at %q: log has\n%s\nwant once\n%s", version, book, want)
			}
			_ = r.end()
		}
	})
}

// Whether a watch lives shows after it was opened; so an end that was none is told once, not once a
// watch.
func TestLogOfAServerThatAcceptsAndFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, book := logRig(t, slog.LevelWarn)
		r.synced2()
		for range 20 {
			r.fake.watches <- watchAnswer{err: &os.SyscallError{Syscall: "connect", Err: syscall.ECONNREFUSED}}
			s := r.fake.open()
			s.event(object.Modified, "a", "11")
			s.events <- io.ErrUnexpectedEOF
		}
		refused := `error="connect: connection refused" delay=800ms`
		book.expect(t,
			`level=WARN msg="relist: failing" reason=unreachable `+refused,
			`level=WARN msg="relist: recovered" after=800ms delays=1`,
			`level=WARN msg="relist: failing again" reason=unreachable error="connect: connection refused" delay=1.6s for=800ms`,
			`level=WARN msg="relist: still failing" reason=connectionLost error="unexpected EOF" delay=800ms for=2.4s`,
		)
		s := r.fake.open()
		later(9 * time.Second)
		s.event(object.Modified, "a", "12")
		book.expect(t)
		later(time.Second)
		s.event(object.Modified, "a", "13")
		synctest.Wait()
		if got := book.String(); !strings.HasPrefix(got, `level=WARN msg="relist: recovered" after=`) || strings.Count(got, "\n") != 1 {
			t.Errorf("log has %q, want that it is over", got)
		}
	})
}

// An API server that ends a stream early, and serves the next one, is no problem. One that
// continues like this is.
func TestLogOfShortStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, book := logRig(t, slog.LevelWarn)
		r.synced2()
		short := func(newest int) { // the server repeats the last event, and adds one
			s := r.fake.open()
			for version := max(11, newest-1); version <= newest; version++ {
				s.event(object.Modified, "a", strconv.Itoa(version))
			}
			s.events <- io.EOF
		}
		for n := range 3 { // the first is opened again at once, without a delay
			short(11 + n)
		}
		book.expect(t)
		short(14)
		book.expect(t, `level=WARN msg="relist: failing" reason=closed delay=800ms`)
	})
}

func TestLogOfARelistHasItsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, book := logRig(t, slog.LevelInfo)
		s := r.synced()
		s.events <- gone()
		later(time.Second)
		r.fake.lists <- listAnswer{err: gone()} // is asked for the most recent state next
		r.fake.page("20", "a")
		r.fake.open()
		book.expect(t, listedFirst, `level=INFO msg="relist: listed" reason=expired objects=1 took=0s resourceVersion=20`)
		asked := make(chan error, 1)
		go func() { asked <- r.Relist(t.Context()) }()
		r.fake.page("30", "a")
		if err := <-asked; err != nil {
			t.Fatal(err)
		}
		book.expect(t, `level=INFO msg="relist: listed" reason=relistRequested objects=1 took=0s resourceVersion=30`)
	})
}

func TestLogOfQuarantine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, book := logRig(t, slog.LevelWarn)
		s := r.synced()
		s.undecodable(object.Modified, "a", "11")
		s.undecodable(object.Modified, "a", "12")
		book.expect(t, `level=WARN msg="relist: object in quarantine" class=object key=a error="object a at resourceVersion \"11\": bad field"`)
		later(30 * time.Second)
		s.event(object.Modified, "a", "13")
		book.expect(t, `level=WARN msg="relist: object out of quarantine" key=a after=30s`)

		for i := range 30 {
			s.undecodable(object.Added, fmt.Sprint("new-", i), fmt.Sprint(20+i))
		}
		synctest.Wait()
		if lines := strings.Split(book.String(), "\n"); len(lines) != 12 || !strings.Contains(lines[10], `msg="relist: more objects in quarantine"`) {
			t.Errorf("log has %q, want ten objects and a line that there are more", lines)
		}
		book.Reset()

		// A list has two of them in a state as bad, and the others are gone.
		s.events <- gone()
		later(time.Second)
		r.fake.lists <- listAnswer{page: &source.Page[string]{ResourceVersion: "60", Items: []string{"a"}, Errors: []*source.ObjectError{
			badField(object.Meta{Key: "new-1", ResourceVersion: "21"}), badField(object.Meta{Key: "new-2", ResourceVersion: "55"}),
		}}}
		synctest.Wait()
		lines := strings.Split(strings.TrimSpace(book.String()), "\n")
		for i, key := range []string{"new-0", "new-3", "new-4", "new-5", "new-6", "new-7", "new-8", "new-9"} {
			if i >= len(lines) || !strings.HasPrefix(lines[i], `level=WARN msg="relist: object out of quarantine" key=`+key+" ") {
				t.Errorf("log has %q, want %s out of quarantine", lines, key)
			}
		}
		if len(lines) != 8 {
			t.Errorf("log has %d lines, want 8: %q", len(lines), lines)
		}
	})
}

// A bookmark without a version comes every minute, forever.
func TestLogOfAProblemWithoutAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, book := logRig(t, slog.LevelWarn)
		s := r.synced()
		for range 3 {
			s.event(object.Bookmark, "", "9")
		}
		line := `level=WARN msg="relist: problem" class=version error="`
		if got := book.String(); !strings.HasPrefix(got, line) || strings.Count(got, "\n") != 1 {
			t.Errorf("log has %q, want one line", got)
		}
	})
}

// What a server sends can neither begin a line of its own nor reach a terminal, also with a handler
// that quotes nothing.
func TestLogShowsNothingAServerSendsAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Trace: LogTrace(slog.New(bare{t}))})
		s := r.synced()
		const evil = "x\nlevel=INFO msg=\"all is well\" \x1b[2J\u009b2J\u202e"
		s.event(object.Added, evil, "11")
		s.undecodable(object.Added, "b"+evil, "12")
		s.event(object.Added, "c", "13"+evil)
		s.events <- &net404{evil}
		synctest.Wait()
	})
}

type net404 struct{ text string }

func (e *net404) Error() string { return e.text }

// bare is a handler that fails the test if a text is not safe to show.
type bare struct{ t *testing.T }

func (bare) Enabled(context.Context, slog.Level) bool { return true }
func (h bare) WithAttrs([]slog.Attr) slog.Handler     { return h }
func (h bare) WithGroup(string) slog.Handler          { return h }
func (h bare) Handle(_ context.Context, record slog.Record) error {
	record.Attrs(func(a slog.Attr) bool {
		if text := a.Value.String(); strings.ContainsAny(text, "\n\x1b\u009b\u202e") {
			h.t.Errorf("%s: %s is %q", record.Message, a.Key, text)
		}
		return true
	})
	return nil
}

func TestLoggedErrorIsTheError(t *testing.T) {
	cause := errors.New("cause")
	if err := error(visibleError{fmt.Errorf("a\nb: %w", cause)}); !errors.Is(err, cause) || err.Error() != "a b: cause" {
		t.Errorf("error %q, want one line that wraps the cause", err)
	}
}

func TestLogOfVerifications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := &logBook{}
		trace := LogTrace(book.logger(slog.LevelWarn))
		failed := Problem{Class: protocol.ListProblem, Err: fmt.Errorf("%w: list pods: 403", protocol.ErrVerification)}
		trace.Problem(failed)
		trace.Problem(failed)
		book.expect(t, `level=WARN msg="relist: verification failed" class=list error="verify: list pods: 403"`)
		later(time.Minute)
		trace.Verified(Verified{Objects: 7})
		book.expect(t, `level=WARN msg="relist: verification works again" after=1m0s`)
		trace.Problem(Problem{Class: protocol.DriftProblem, Key: "a", Err: errors.New("it is gone")})
		trace.Problem(Problem{Class: protocol.DriftProblem, Key: "b", Err: errors.New("it is old")})
		trace.Verified(Verified{Objects: 7, Differences: 2})
		book.expect(t, `level=WARN msg="relist: the copy differed from the server" objects=7 differences=2 took=0s key=a error="it is gone"`)
		trace.Verified(Verified{Objects: 7})
		book.expect(t)
	})
}
