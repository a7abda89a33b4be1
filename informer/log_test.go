package informer_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
)

// logged is what a logger has written.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// named is a ListWatcher that says what it lists, as a listwatch.Resource does.
type named struct {
	listwatch.ListWatcher[*thing]
}

func (named) String() string { return "things in shop" }

func TestLoggerIsToldOnceOfFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("shop/tea")
		away := errors.New("connect: connection refused")
		f.failing = away
		var log logged
		told := 0
		r := newRig(t, f, informer.Options[*thing]{
			Logger:    slog.New(slog.NewTextHandler(&log, nil)),
			Reflector: reflector.Options{Trace: &reflector.Trace{Backoff: func(reflector.Backoff) { told++ }}},
		})
		r.start()
		later(time.Hour)
		f.fail(nil)
		later(time.Minute)
		if told < 100 {
			t.Errorf("the program's own trace was told %d times, want once for each attempt of an hour", told)
		}
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		want := []string{"relist: failing", "relist: listed", "relist: recovered"}
		if len(lines) != len(want) {
			t.Fatalf("log has\n%s", log.String())
		}
		for i, line := range lines {
			if !strings.Contains(line, want[i]) {
				t.Errorf("line %d is %s, want %s", i, line, want[i])
			}
		}
	})
}

// Many informers share a logger, so each line says which resource it is about.
func TestLoggerIsToldWhichResource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("shop/tea")
		var log logged
		r := newRig(t, f, informer.Options[*thing]{})
		r.Informer = informer.New(named{f}, informer.Options[*thing]{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		r.start()
		if !strings.Contains(log.String(), `msg="relist: listed" resource="things in shop" reason=first objects=1`) {
			t.Errorf("log has %s", log.String())
		}
	})
}

// A program that sets nothing is told.
func TestLoggerIsTheDefaultLogger(t *testing.T) {
	var log logged
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	synctest.Test(t, func(t *testing.T) {
		f := newFake("shop/tea")
		r := newRig(t, f, informer.Options[*thing]{})
		r.Informer = informer.New(f, informer.Options[*thing]{})
		r.start()
		if !strings.Contains(log.String(), "relist: listed") {
			t.Errorf("slog.Default() has %q, want the first list", log.String())
		}
	})
}
