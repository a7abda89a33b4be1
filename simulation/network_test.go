package simulation

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/transport"
)

// configMap is what these tests know of a ConfigMap.
type configMap struct {
	metav1.ObjectMeta `json:"metadata"`
	Data              map[string]string `json:"data"`
}

// memory is a network of pipes, with one server on it.
type memory struct {
	conns chan net.Conn
	done  chan struct{}
	close sync.Once
}

// serveMemory serves handler until the test has ended.
func serveMemory(t *testing.T, handler http.Handler) *memory {
	m := &memory{conns: make(chan net.Conn), done: make(chan struct{})}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	srv := &http.Server{Handler: handler, Protocols: &protocols}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = srv.Serve(m) // it ends with ErrServerClosed
	}()
	t.Cleanup(func() {
		_ = srv.Close()
		<-ended
		<-time.After(time.Second) // net/http lingers on a connection that it did not read to the end
	})
	return m
}

func (m *memory) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case m.conns <- server:
		return client, nil
	case <-m.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (m *memory) Close() error {
	m.close.Do(func() { close(m.done) })
	return nil
}

// Addr implements net.Listener.
func (*memory) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }

// configMaps returns the ListWatcher of a server, and closes its connections when the
// test has ended.
func configMaps(t *testing.T, cfg transport.Config) *listwatch.Resource[*configMap] {
	t.Helper()
	client, err := transport.NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	lw, err := listwatch.New[*configMap](client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, listwatch.Options[*configMap]{})
	if err != nil {
		t.Fatal(err)
	}
	return lw
}
