package simulation

import (
	"context"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/internal/memnet"
	"github.com/relist-go/relist/internal/must"
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
	*memnet.Network

	mu      sync.Mutex // guards all below
	refused error      // what a dial returns; nil if somebody accepts
	open    []net.Conn // the server's ends
	vain    []time.Time
}

// errRefused is what a dial returns where nobody listens.
var errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}

// refuse closes every connection, and refuses new ones until accept is called.
func (m *memory) refuse() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refused = errRefused
	for _, c := range m.open {
		_ = c.Close()
	}
	m.open = nil
}

func (m *memory) accept() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refused = nil
}

// inVain returns the dials that were refused.
func (m *memory) inVain() (dials []request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, at := range m.vain {
		dials = append(dials, request{at: at, verb: "dial"})
	}
	return dials
}

// serveMemory serves handler until the test has ended.
func serveMemory(t *testing.T, handler http.Handler) *memory {
	m := &memory{Network: memnet.New()}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	stop := m.Serve(&http.Server{Handler: handler, Protocols: &protocols})
	t.Cleanup(func() {
		stop()
		<-time.After(time.Second) // net/http lingers on a connection that it did not read to the end
	})
	return m
}

func (m *memory) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	if err := m.connect(server); err != nil {
		return nil, err
	}
	if err := m.Connect(ctx, server); err != nil {
		return nil, err
	}
	return client, nil
}

// connect keeps the server's end of a new connection, for refuse to close.
func (m *memory) connect(server net.Conn) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refused != nil {
		m.vain = append(m.vain, time.Now())
		return m.refused
	}
	m.open = append(m.open, server)
	return nil
}

// configMaps returns the ListWatcher of a server, and closes its connections when the
// test has ended.
func configMaps(t *testing.T, cfg transport.Config) *listwatch.Client[*configMap] {
	t.Helper()
	client, err := transport.NewClient(cfg)
	must.OK(t, err)
	t.Cleanup(client.Close)
	lw, err := listwatch.New[*configMap](client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, listwatch.Options[*configMap]{})
	must.OK(t, err)
	return lw
}
