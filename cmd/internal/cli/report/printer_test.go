package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/internal/must"
)

// everyLine is one line of each kind.
func everyLine() []Line {
	return []Line{
		List{ResourceVersion: "5", Items: 2, Pages: 1, Seconds: 0.012},
		Delta{Type: "Replaced", Key: "a/b", UID: "u", ResourceVersion: "3"},
		Delta{Type: "Deleted", Key: "a/c", UID: "v", ResourceVersion: "2", Inferred: true},
		Synced{ResourceVersion: "5", Objects: 1, Seconds: 0.02},
		Watch{ResourceVersion: "5", TimeoutSeconds: 301},
		Bookmark{ResourceVersion: "9"},
		WatchEnd{ResourceVersion: "9", Reason: "cut", Message: "reset\nby peer", Events: 1, Seconds: 61},
		Relist{ResourceVersion: "9", Reason: "expired"},
		Backoff{Seconds: 0.8, Reason: "expired"},
		Problem{Class: "object", Message: "bad\x1b[2J", Key: "a/d"},
		Problem{Class: "list", Message: "503"},
		Summary{Objects: 1, Digest: "sha256:00", CPUSeconds: 1, PeakRSSBytes: 1 << 20, SyncSeconds: 2},
	}
}

func printAll(t *testing.T, opts Options) string {
	t.Helper()
	var out bytes.Buffer
	p := NewPrinter(&out, opts)
	for _, l := range everyLine() {
		p.Print(l)
	}
	p.Say("%d words", 3)
	must.OK(t, p.Close())
	return out.String()
}

func TestText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const want = `    0.000s  list       2 objects in 1 page at 5, took 12ms
    0.000s  delta      Replaced a/b  at 3
    0.000s  delta      Deleted  a/c  (final state unknown, last seen at 2)
    0.000s  synced     1 object at 5
    0.000s  watch      from 5, asking for 5m1s
    0.000s  bookmark   at 9
    0.000s  watchEnd   cut after 1m1s and 1 event (reset by peer)
    0.000s  relist     9 is given up: expired
    0.000s  backoff    800ms because expired
    0.000s  problem    object a/d: bad\x1b[2J
    0.000s  problem    list: 503
summary
  objects          1
  resourceVersion  (none)
  digest           sha256:00
  lists            0
  relists          0
  watches          0
  bookmarks        0
  deltas           0 in the first list, 0 added, 0 updated, 0 deleted (0 inferred), 0 replaced, 0 resynced
  problems         0
  synced in        2s
  CPU              1s
  peak RSS         1.0 MB
3 words
`
		if got := printAll(t, Options{}); got != want {
			t.Errorf("got:\n%s\nwant:\n%s", got, want)
		}
	})
}

func TestJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		<-time.After(1500 * time.Millisecond) // virtual; synctest begins at midnight UTC, 1 January 2000
		lines := strings.SplitAfter(strings.TrimSuffix(printAll(t, Options{Format: JSON}), "\n"), "\n")
		if want := len(everyLine()); len(lines) != want {
			t.Fatalf("%d lines, want %d, and nothing that was said", len(lines), want)
		}
		for i, l := range lines {
			var fields map[string]any
			if err := json.Unmarshal([]byte(l), &fields); err != nil {
				t.Fatalf("%s: %v", l, err)
			}
			if fields["kind"] != Kind(everyLine()[i]) || fields["time"] != "2000-01-01T00:00:01.500000000Z" {
				t.Errorf("time or kind of %s", l)
			}
		}
		const delta = `{"time":"2000-01-01T00:00:01.500000000Z","kind":"delta","type":"Deleted","key":"a/c","uid":"v","resourceVersion":"2","inferred":true}` + "\n"
		if lines[2] != delta {
			t.Errorf("got %s want %s", lines[2], delta)
		}
	})
}

func TestNone(t *testing.T) {
	if got := printAll(t, Options{Format: None}); !strings.HasPrefix(got, "summary\n") || strings.Contains(got, "watch ") {
		t.Errorf("got:\n%s", got)
	}
}

func TestColor(t *testing.T) {
	got := printAll(t, Options{Color: true})
	for _, want := range []string{"\x1b[31mproblem\x1b[0m    list: 503\n", "\x1b[32msynced\x1b[0m", "\x1b[35mdelta\x1b[0m      Deleted", "\x1b[2mbookmark   at 9\x1b[0m\n", "list       2 objects"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in:\n%s", want, got)
		}
	}
}

// slowWriter takes a write when it is told to.
type slowWriter struct {
	accept chan struct{}
	mu     sync.Mutex
	writes []string
}

func (w *slowWriter) Write(b []byte) (int, error) {
	<-w.accept
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes = append(w.writes, string(b))
	return len(b), nil
}

// A slow output holds nobody up, and gets in one piece what has gathered.
func TestGathers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{accept: make(chan struct{})}
		p := NewPrinter(w, Options{})
		p.Say("first")
		synctest.Wait()
		p.Say("second")
		p.Say("third")
		close(w.accept)
		must.OK(t, p.Close())
		if len(w.writes) != 2 || w.writes[0] != "first\n" || w.writes[1] != "second\nthird\n" {
			t.Errorf("writes = %q", w.writes)
		}
	})
}

// Memory is bounded: who prints waits for an output that is far behind.
func TestBackpressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{accept: make(chan struct{})}
		p := NewPrinter(w, Options{})
		big := Problem{Message: strings.Repeat("x", maxPending)}
		printed := make(chan struct{})
		go func() {
			defer close(printed)
			for range 3 {
				p.Print(big)
			}
		}()
		synctest.Wait()
		select {
		case <-printed:
			t.Error("three MiB were taken while nothing was written")
		default:
		}
		close(w.accept)
		<-printed
		must.OK(t, p.Close())
	})
}

func TestLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := NewPrinter(&out, Options{Live: true, columns: func() int { return 5 }})
		p.Progress("50 % done")
		synctest.Wait()
		p.Say("news")
		synctest.Wait()
		must.OK(t, p.Close())
		if got, want := out.String(), "50…\r\r\x1b[Jnews\n50…\r\r\x1b[J"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// A reader that is gone is told once, and stops nobody.
func TestBrokenOutput(t *testing.T) {
	r, w := io.Pipe()
	r.Close()
	failed := make(chan error, 2)
	p := NewPrinter(w, Options{Failed: func(err error) { failed <- err }})
	p.Say("lost")
	if err := <-failed; !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Failed(%v)", err)
	}
	for range 10 {
		p.Print(Problem{Message: strings.Repeat("x", maxPending)})
	}
	if err := p.Close(); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Close() = %v", err)
	}
	if len(failed) != 0 {
		t.Error("Failed was called again")
	}
}

func TestTerminal(t *testing.T) {
	if got := Terminal(&bytes.Buffer{}, Text, ColorAuto); got.Color || got.Live {
		t.Errorf("a buffer is no terminal: %+v", got)
	}
}
