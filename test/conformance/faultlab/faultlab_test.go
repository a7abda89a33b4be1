package faultlab

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
	"github.com/relist-go/relist/transport"
)

// duration is how long requests are counted.
const duration = 15 * time.Second

// relist asks for no more than it may, whatever is wrong, and has synced.
func TestFaults(t *testing.T) {
	measured := make([]count, len(shapes))
	var all sync.WaitGroup
	for i, s := range shapes {
		all.Go(func() { measured[i] = measure(t, s) })
	}
	all.Wait()
	for i, s := range shapes {
		if got := measured[i].total(); got == 0 || got > s.most {
			t.Errorf("%s: %v in %s; want some, and %d requests at most", s.what, measured[i], duration, s.most)
		}
	}
	checkPage(t, measured)
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
func measure(t *testing.T, s shape) count {
	l := &lab{shape: s}
	var config net.ListenConfig
	ln, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Error(err)
		return count{}
	}
	srv := &http.Server{Handler: l}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = srv.Serve(&network{Listener: ln, lab: l}) // it ends with ErrServerClosed
	}()
	defer func() {
		_ = srv.Close()
		<-ended
	}()
	client, err := transport.NewClient(transport.Config{Server: "http://" + ln.Addr().String(), Protocol: transport.ProtocolHTTP1})
	if err != nil {
		t.Error(err)
		return count{}
	}
	defer client.Close()
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	lw, err := listwatch.New(client, configMaps, listwatch.Options[*metav1.PartialObjectMetadata]{})
	if err != nil {
		t.Error(err)
		return count{}
	}
	objects := store.New(store.Options[*metav1.PartialObjectMetadata]{})
	dice := rand.New(rand.NewPCG(1, 2))
	r := reflector.New(lw, reflector.InMemory(objects), reflector.Options{Initial: l.initial, Rand: dice.Float64})
	ctx, cancel := context.WithTimeout(t.Context(), duration)
	defer cancel()
	if err := r.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%s: Run returned %v", l.what, err)
	}
	if objects.Len() == 0 && l.initial != reflector.Streaming { // of initial events, there is no end
		t.Errorf("%s: not synced after %s", l.what, duration)
	}
	return l.count()
}
