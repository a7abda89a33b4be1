package record

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"sync"

	"github.com/relist-go/relist/trace/internal/pipe"
	"github.com/relist-go/relist/trace/internal/target"
	"github.com/relist-go/relist/transport"
)

// tap is a proxy in memory: a server to the client under recording, a client of
// the API server.
type tap struct {
	upstream *transport.Client
	log      *log
	reduce   *reducer
	path     string         // of the collection
	links    sync.WaitGroup // a goroutine for each connection, which ends with it
}

// dialer makes connections to the tap. What they carry ends with ctx, and each of
// them when the client closes it.
func (t *tap) dialer(ctx context.Context) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		client, server := pipe.New()
		t.links.Go(func() { t.serve(ctx, server) })
		return client, nil
	}
}

// serve answers what comes on a connection.
func (t *tap) serve(ctx context.Context, conn *pipe.Conn) {
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t.links.Go(func() { // a client that hangs up does not want the answer
		select {
		case <-conn.HungUp():
			cancel()
		case <-ctx.Done():
		}
	})
	r := bufio.NewReader(conn)
	for fresh := true; ; fresh = false {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		x := &live{tap: t, conn: conn, exchange: t.log.ask(target.Of(req), fresh)}
		if !x.answer(ctx, req) {
			return
		}
	}
}

// live is an exchange that is going on.
type live struct {
	*tap
	*exchange
	conn *pipe.Conn
}
