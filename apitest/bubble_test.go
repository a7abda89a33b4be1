package apitest

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/relist-go/relist/internal/must"
)

// The clock of a bubble stands still while a goroutine waits for a mutex. So no goroutine of the
// server may wait for the network while it has one that another goroutine needs.

// A pong, an event and the close frame of a WebSocket are written by two goroutines.
func TestTimePassesWhileAWebSocketStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		w := f.socket("/api/v1/configmaps?watch=true&resourceVersion=1")
		f.Stall()
		must.OK(t, w.ws.WriteControl(websocket.PingMessage, []byte("a"), time.Time{}))
		synctest.Wait()
		f.EndWatches()
		pass(time.Hour)
		must.OK(t, f.Resume())
		w.wantClose(websocket.CloseNormalClosure)
	})
}

func TestTimePassesWhileNobodyReadsAWebSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		// Once its time is over, a watch may end without the events that wait. So it has more time
		// than passes here.
		w := f.socket("/api/v1/configmaps?watch=true&resourceVersion=1&timeoutSeconds=7200")
		f.create("d/a", "d/b")
		synctest.Wait()
		must.OK(t, w.ws.WriteControl(websocket.PingMessage, []byte("a"), time.Time{}))
		pass(time.Hour)
		w.want(`{"type":"ADDED"`)
		w.want(`{"type":"ADDED"`)
		f.EndWatches()
		w.wantClose(websocket.CloseNormalClosure)
	})
}

// A client of HTTP/2 writes frames from several goroutines to a connection that the server has
// left, and that is silent.
func TestTimePassesWhileAConnectionIsHalfOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, listener := StartInMemory(t, Options{})
		transport := memoryTransport(t, listener, true)
		transport.HTTP2 = &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second}
		f := &fixture{t, server, &http.Client{Transport: transport}}
		ctx, disconnect := context.WithCancel(t.Context())
		openWatchUntil(ctx, t, f.client, listener.URL+"/api/v1/configmaps?watch=1&resourceVersion=1")
		idle := openWatch(t, f.client, listener.URL+"/api/v1/configmaps?watch=1&resourceVersion=1")
		if n := f.HalfOpen(); n != 1 {
			t.Fatalf("%d connections went silent, want 1", n)
		}
		if err := f.Restore(Restore{ResourceVersion: "1"}); err != nil { // the server closes the connection, and nobody learns of it
			t.Fatal(err)
		}
		synctest.Wait()
		disconnect() // the client resets the stream
		began := time.Now()
		if _, err := idle.next(); err == nil {
			t.Error("a silent connection brings an event")
		}
		if took := time.Since(began); took != 45*time.Second {
			t.Errorf("the client gave the connection up after %v, want 45s", took)
		}
	})
}
