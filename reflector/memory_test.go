package reflector_test

import (
	"context"
	"net"
	"net/http"
	"testing"

	"github.com/relist-go/relist/internal/memnet"
)

// inMemory serves a handler without a network, for a synctest bubble, and returns how
// to dial it.
func inMemory(t *testing.T, handler http.Handler) func(ctx context.Context, network, addr string) (net.Conn, error) {
	t.Helper()
	network := memnet.New()
	t.Cleanup(network.Serve(&http.Server{Handler: handler}))
	return network.Dial
}
