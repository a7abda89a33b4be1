package informer_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"
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

// named is a ListWatcher that says what it lists, as a listwatch.Client does.
type named struct {
	source.ListWatcher[*thing]
}

func (named) String() string { return "things in shop" }

func TestLoggerIsToldOnceOfFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("shop/tea")
		away := errors.New("connect: connection refused")
		f.Fail(away)
		var log logged
		told := 0
		r := newRig(t, f, informer.Options[*thing]{
			Logger:    slog.New(slog.NewTextHandler(&log, nil)),
			Reflector: reflector.Options{Trace: &reflector.Trace{Backoff: func(reflector.Backoff) { told++ }}},
		})
		r.start()
		later(time.Hour)
		f.Fail(nil)
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

// The informers of a program, and those of the namespaces of a MultiNamespace, can be told apart.
func TestLoggerIsToldWhichNamespace(t *testing.T) {
	client, err := transport.NewClient(transport.Config{Server: "http://127.0.0.1:1", Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("not there")
	}})
	must.OK(t, err)
	defer client.Close()
	pods, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, listwatch.Options[*Pod]{Namespace: "shop"})
	must.OK(t, err)
	var log logged
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	in := informer.New(pods, informer.Options[*Pod]{
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Reflector: reflector.Options{Trace: &reflector.Trace{Backoff: func(reflector.Backoff) {
			stop() // the next line is the log's
		}}},
	})
	if err := in.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if !strings.Contains(log.String(), `msg="relist: failing" resource=pods namespace=shop reason=unreachable`) {
		t.Errorf("log has %s", log.String())
	}
}

// The lines of a Group's members begin with their names: two clusters may have the same resource.
func TestLoggerIsToldWhichMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		logger := slog.New(slog.NewTextHandler(&log, nil))
		g := informer.NewGroup()
		join(t, g, "here", struct{ *informer.Informer[*thing] }{informer.New(named{newFake("shop/tea")}, informer.Options[*thing]{
			Logger: logger, Checkpoint: unreadable{},
		})})
		town := newTown("shop/tea")
		multi := informer.NewMultiNamespace(func(namespace string) (source.ListWatcher[*thing], error) {
			lw, err := town.open(namespace)
			return named{lw}, err
		}, informer.Options[*thing]{Logger: logger})
		must.OK(t, multi.Add("shop"))
		join(t, g, "away", multi)
		alone := informer.New(named{newFake("shop/tea")}, informer.Options[*thing]{Logger: logger})
		t.Cleanup(running(t, alone))
		synctest.Wait()
		join(t, informer.NewGroup(), "late", alone)
		if err := alone.Relist(t.Context()); err != nil {
			t.Error(err)
		}
		runGroup(t, g)
		for _, want := range []string{
			`msg="relist: listed" resource="things in shop" reason=relistRequested`,
			`msg="relist: the saved copy is not used; begins with a list" member=here resource="things in shop" error=unreadable`,
			`msg="relist: listed" member=here resource="things in shop" reason=first`,
			`msg="relist: listed" member=away resource="things in shop" reason=first`,
		} {
			if strings.Count(log.String(), want) != 1 {
				t.Errorf("no line\n%sin\n%s", want, log.String())
			}
		}
	})
}

// unreadable has no copy that can be used.
type unreadable struct{}

func (unreadable) Load(context.Context, string) ([]*thing, reflector.Point, error) {
	return nil, reflector.Point{}, errors.New("unreadable")
}

func (unreadable) Save(context.Context, string, reflector.Point, iter.Seq[*thing]) error { return nil }
