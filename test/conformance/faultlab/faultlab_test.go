package faultlab

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/internal/pipes"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
	"github.com/relist-go/relist/transport"
)

// relist asks for no more than it may, whatever is wrong, and has synced.
func TestFaults(t *testing.T) {
	measured := make([][2]count, len(shapes))
	t.Run("15 seconds over loopback", func(t *testing.T) {
		var all sync.WaitGroup
		for i := range shapes {
			all.Go(func() { measured[i][0] = loopback(t, shapes[i], 15*time.Second) })
		}
		all.Wait()
	})
	for i := range shapes {
		synctest.Test(t, func(t *testing.T) { measured[i][1] = virtual(t, shapes[i], 10*time.Minute) })
	}
	for i, s := range shapes {
		got := measured[i]
		if got[0].total() > s.quarter || got[1].total() > s.ten {
			t.Errorf("%s: %v in 15 s, %v in 10 minutes; want %d and %d requests at most", s.what, got[0], got[1], s.quarter, s.ten)
		}
		if got[0].total() == 0 {
			t.Errorf("%s: %v show nothing", s.what, got[0])
		}
	}
	checkPage(t, measured)
}

// loopback measures in real time.
func loopback(t *testing.T, s shape, d time.Duration) count {
	l := &lab{shape: s}
	var config net.ListenConfig
	ln, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Error(err)
		return count{}
	}
	return measure(t, l, &network{Listener: ln}, transport.Config{Server: "http://" + ln.Addr().String()}, d)
}

// virtual measures in a bubble.
func virtual(t *testing.T, s shape, d time.Duration) count {
	l := &lab{shape: s}
	memory := pipes.New()
	return measure(t, l, &network{Listener: memory}, transport.Config{Server: "http://relist.test", Dial: memory.Dial}, d)
}

// network is a listener whose connections the lab sees first.
type network struct {
	net.Listener
	lab *lab
}

// Accept implements net.Listener.
func (n *network) Accept() (net.Conn, error) {
	for {
		conn, err := n.Listener.Accept()
		if err != nil || !n.lab.accept(conn) {
			return conn, err
		}
	}
}

// measure runs a reflector for some time against a lab.
func measure(t *testing.T, l *lab, n *network, cfg transport.Config, d time.Duration) count {
	n.lab = l
	srv := &http.Server{Handler: l}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = srv.Serve(n) // it ends with ErrServerClosed
	}()
	cfg.Protocol = transport.ProtocolHTTP1
	client, err := transport.NewClient(cfg)
	if err != nil {
		t.Error(err)
		return count{}
	}
	lw, err := listwatch.New[*metav1.PartialObjectMetadata](client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, listwatch.Options[*metav1.PartialObjectMetadata]{})
	if err != nil {
		t.Error(err)
		return count{}
	}
	objects := store.New(store.Options[*metav1.PartialObjectMetadata]{})
	dice := rand.New(rand.NewPCG(1, 2))
	r := reflector.New(lw, reflector.InMemory(objects), reflector.Options{Initial: l.initial, Rand: dice.Float64})
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := r.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%s: Run returned %v", l.what, err)
	}
	counted := l.count()
	if d > time.Minute && objects.Len() == 0 {
		t.Errorf("%s: not synced after %s", l.what, d)
	}
	client.Close()
	_ = srv.Close()
	<-ended
	<-time.After(time.Second) // net/http lingers on a connection that it did not read to the end
	return counted
}
