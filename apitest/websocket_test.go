package apitest

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"github.com/relist-go/relist/internal/must"
)

// A socketWatch is a watch over WebSocket of a client that is another library's than the server's.
type socketWatch struct {
	*testing.T
	ws   *websocket.Conn
	resp *http.Response
}

// dialSocket asks for a watch. Without an Origin in header, it sends that of the server.
func dialSocket(t *testing.T, dial func(context.Context, string, string) (net.Conn, error), addr string, header ...string) (*socketWatch, error) {
	t.Helper()
	scheme, rest, _ := strings.Cut(addr, "://")
	host, _, _ := strings.Cut(rest, "/")
	h := http.Header{"Origin": {scheme + "://" + host}}
	for i := 0; i < len(header); i += 2 {
		h[header[i]] = []string{header[i+1]}
	}
	dialer := websocket.Dialer{NetDialContext: dial}
	ws, resp, err := dialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(addr, "http"), h) //nolint:bodyclose // that is the connection
	if err == nil {
		t.Cleanup(func() { ws.Close() })
	}
	return &socketWatch{t, ws, resp}, err
}

func (f *fixture) socket(path string, header ...string) *socketWatch {
	f.Helper()
	transport, ok := f.client.Transport.(*http.Transport)
	if !ok {
		f.Fatal("the client has no transport of its own")
	}
	w, err := dialSocket(f.T, transport.DialContext, "http://server"+path, header...)
	if err != nil {
		f.Fatal(err)
	}
	return w
}

// message returns the next message, which must be text that ends as a line does.
func (w *socketWatch) message() (string, error) {
	typ, data, err := w.ws.ReadMessage()
	text, isLine := strings.CutSuffix(string(data), "\n")
	if err == nil && (typ != websocket.TextMessage || !isLine) {
		w.Errorf("message of type %d: %q", typ, data)
	}
	return text, err
}

func (w *socketWatch) want(messages ...string) {
	w.Helper()
	for _, want := range messages {
		if got, err := w.message(); err != nil || !strings.HasPrefix(got, want) {
			w.Fatalf("got %s, %v, want %s", got, err, want)
		}
	}
}

// wantClose reads to the end, which is a close frame with a code, or a cut if that is 1006.
func (w *socketWatch) wantClose(code int) {
	w.Helper()
	for {
		_, err := w.message()
		if err == nil {
			continue
		}
		if !websocket.IsCloseError(err, code) {
			w.Errorf("the end is %v, want %d", err, code)
		}
		return
	}
}

func TestWatchOverWebSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		rv := f.create("default/a")
		w := f.socket("/api/v1/namespaces/default/configmaps?watch=true&allowWatchBookmarks=true&timeoutSeconds=100&resourceVersion=" + rv)
		f.create("default/b", "default/c")
		f.touch("default/a")
		const object = `,"object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"`
		w.want(`{"type":"ADDED"`+object+`b"`, `{"type":"ADDED"`+object+`c"`, `{"type":"MODIFIED"`+object+`a"`, `{"type":"BOOKMARK"`, `{"type":"BOOKMARK"`)
		begun := time.Now()
		w.wantClose(websocket.CloseNormalClosure)
		if took := time.Since(begun); took != bookmarkLead {
			t.Errorf("it took %v from the last bookmark to the end, want %v", took, bookmarkLead)
		}
		want := http.Header{"Upgrade": {"websocket"}, "Connection": {"Upgrade"}}
		w.resp.Header.Del("Sec-Websocket-Accept")
		if diff := cmp.Diff(want, w.resp.Header); diff != "" {
			t.Errorf("header (-want +got):\n%s", diff)
		}
	})
}

func TestWebSocketHandshake(t *testing.T) {
	const path = "/api/v1/configmaps?watch=true&resourceVersion="
	token := tokenProtocol + base64.RawURLEncoding.EncodeToString([]byte("secret"))
	for name, test := range map[string]struct {
		path     string
		header   []string
		want     int
		body     string // the beginning
		protocol string
	}{
		"a token in the header":        {path + "0", []string{"Authorization", "Bearer secret"}, 101, "", ""},
		"a token as a sub-protocol":    {path + "0", []string{protocolHeader, token + ", base64.binary.k8s.io"}, 101, "", "base64.binary.k8s.io"},
		"the token last":               {path + "0", []string{protocolHeader, "x," + token}, 101, "", "x"},
		"the token alone":              {path + "0", []string{protocolHeader, token}, 401, `{"kind":"Status"`, ""},
		"two tokens":                   {path + "0", []string{protocolHeader, token + "," + token + ",x"}, 401, `{"kind":"Status"`, ""},
		"another token":                {path + "0", []string{protocolHeader, token + "QQ, x"}, 401, `{"kind":"Status"`, ""},
		"a token in another encoding":  {path + "0", []string{protocolHeader, tokenProtocol + "se=cret, x"}, 401, `{"kind":"Status"`, ""},
		"no token":                     {path + "0", nil, 401, `{"kind":"Status"`, ""},
		"one sub-protocol":             {path + "0", []string{"Authorization", "Bearer secret", protocolHeader, "nonsense"}, 101, "", "nonsense"},
		"two sub-protocols":            {path + "0", []string{"Authorization", "Bearer secret", protocolHeader, "a, b"}, 400, "", ""},
		"no Origin":                    {path + "0", []string{"Authorization", "Bearer secret", "Origin", ""}, 403, "", ""},
		"an Origin that is no URL":     {path + "0", []string{"Authorization", "Bearer secret", "Origin", "server"}, 403, "", ""},
		"an invalid resourceVersion":   {path + "x", []string{"Authorization", "Bearer secret"}, 500, `{"kind":"Status"`, ""},
		"a resource that there is not": {"/api/v1/nonsense?watch=true", []string{"Authorization", "Bearer secret"}, 404, `{"kind":"Status"`, ""},
		"a type that cannot be sent":   {path + "0", []string{"Authorization", "Bearer secret", "Accept", "text/html"}, 406, `{"kind":"Status"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := serve(t, Options{Token: "secret"})
				transport, _ := f.client.Transport.(*http.Transport)
				w, err := dialSocket(t, transport.DialContext, "http://server"+test.path, test.header...)
				if w.resp == nil || w.resp.StatusCode != test.want {
					t.Fatalf("answer %+v, %v, want %d", w.resp, err, test.want)
				}
				if test.want == http.StatusSwitchingProtocols {
					if got := w.resp.Header.Get(protocolHeader); got != test.protocol {
						t.Errorf("sub-protocol %q, want %q", got, test.protocol)
					}
					w.ws.Close()
					return
				}
				body, _ := io.ReadAll(w.resp.Body)
				if !strings.HasPrefix(string(body), test.body) || test.body == "" && len(body) > 0 {
					t.Errorf("body %q, want %q", body, test.body)
				}
			})
		})
	}
}

func TestWebSocketExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{Window: -1})
		f.create("default/a", "default/b", "default/c")
		w := f.socket("/api/v1/configmaps?watch=true&resourceVersion=1")
		w.want(`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version`)
		w.wantClose(websocket.CloseNormalClosure)
	})
}

func TestWebSocketFaults(t *testing.T) {
	const path = "/api/v1/configmaps?watch=true&resourceVersion=1"
	for name, fault := range map[string]struct {
		do   func(*fixture)
		want int
	}{
		"a cut at once":            {func(f *fixture) { f.CutWatches(0) }, websocket.CloseAbnormalClosure},
		"a cut inside a message":   {func(f *fixture) { f.CutWatches(50); f.create("default/a") }, websocket.CloseAbnormalClosure},
		"a clean cut":              {func(f *fixture) { f.Cut(Cut{Clean: true}) }, websocket.CloseNormalClosure},
		"an end":                   {func(f *fixture) { f.EndWatches() }, websocket.CloseNormalClosure},
		"an end while it stalls":   {func(f *fixture) { f.Stall(); f.EndWatches(); synctest.Wait(); _ = f.Resume() }, websocket.CloseNormalClosure},
		"a server that is closed":  {func(f *fixture) { _ = f.Close() }, websocket.CloseNormalClosure},
		"closed while it stalls":   {func(f *fixture) { f.Stall(); f.create("default/a"); synctest.Wait(); _ = f.Close() }, websocket.CloseAbnormalClosure},
		"an error in the stream":   {func(f *fixture) { f.Inject([]byte("{}\n")); f.EndWatches() }, websocket.CloseNormalClosure},
		"a client that says adieu": {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := serve(t, Options{})
				w := f.socket(path)
				synctest.Wait()
				if fault.do == nil {
					w.ws.Close() // and then the server must notice, for the test to end
					return
				}
				go fault.do(f)
				w.wantClose(fault.want)
			})
		})
	}
	t.Run("a failure in the stream", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := serve(t, Options{})
			f.failNext(Failure{InStream: true, Status: 500})
			w := f.socket(path)
			w.want(`{"type":"ERROR"`)
			w.wantClose(websocket.CloseNormalClosure)
		})
	})
}

// What is cut inside a message is no message, whatever it is encoded in.
func TestWebSocketCutInsideAMessage(t *testing.T) {
	for _, accept := range []string{"application/json", protobufMediaType} {
		synctest.Test(t, func(t *testing.T) {
			f := serve(t, Options{})
			w := f.socket("/api/v1/configmaps?watch=true&resourceVersion=1", "Accept", accept)
			f.create("default/a")
			_, whole, err := w.ws.ReadMessage()
			must.OK(t, err)
			f.CutWatches(int64(len(whole) + lengthBytes + 50))
			f.create("default/b", "default/c")
			if _, b, err := w.ws.ReadMessage(); err != nil || len(b) != len(whole) {
				t.Errorf("%s: %q, %v, want a message as long as that of a", accept, b, err)
			}
			if typ, b, err := w.ws.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseAbnormalClosure) {
				t.Errorf("%s: message of type %d: %q, %v", accept, typ, b, err)
			}
		})
	}
}

// A server that stalls answers no ping.
func TestWebSocketPings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		w := f.socket("/api/v1/configmaps?watch=true&resourceVersion=1")
		pongs := make(chan string, 2)
		w.ws.SetPongHandler(func(data string) error { pongs <- data; return nil })
		ping := func(data string) {
			if err := w.ws.WriteControl(websocket.PingMessage, []byte(data), time.Time{}); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		go w.wantClose(websocket.CloseNormalClosure)
		ping("a")
		f.Stall()
		ping("b")
		if got := len(pongs); got != 1 {
			t.Errorf("%d pongs, want 1", got)
		}
		if err := f.Resume(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if a, b := <-pongs, <-pongs; a != "a" || b != "b" {
			t.Errorf("pongs %s and %s", a, b)
		}
		f.EndWatches()
		synctest.Wait()
	})
}

// A listener that is closed, or refuses connections, closes those that are WebSockets, too.
func TestListenerClosesWebSockets(t *testing.T) {
	for _, refuse := range []bool{true, false} {
		s := New(Options{})
		l, err := s.Listen("127.0.0.1:0")
		must.OK(t, err)
		w, err := dialSocket(t, (&net.Dialer{}).DialContext, l.URL+"/api/v1/configmaps?watch=true&resourceVersion=1")
		must.OK(t, err)
		if refuse {
			err = s.Refuse(time.Hour)
		} else {
			err = l.Close()
		}
		if err != nil {
			t.Error(err)
		}
		var closed *websocket.CloseError
		if _, err := w.message(); err == nil || errors.As(err, &closed) && closed.Code != websocket.CloseAbnormalClosure {
			t.Errorf("refuse %v: the end is %v, want a cut", refuse, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A frame that is cut has its length in the shortest form, too: some clients give up for good if it
// is longer. https://www.rfc-editor.org/rfc/rfc6455#section-5.2
func TestCutWebSocketFrameHasTheShortestLength(t *testing.T) {
	for _, size := range []int{1, 2, 124, 125, 126, 500, 65534, 65535, 65536, 70000} {
		synctest.Test(t, func(t *testing.T) {
			f := serve(t, Options{})
			rv := must.Get[string](t)(f.Create("configmaps", configMap("d", "a", "v", strings.Repeat("x", 100_000))))
			transport, _ := f.client.Transport.(*http.Transport)
			conn := must.Get[net.Conn](t)(transport.DialContext(t.Context(), "tcp", "server"))
			defer conn.Close()
			f.Cut(Cut{Next: 1, After: int64(size)})
			_, err := io.WriteString(conn, "GET /api/v1/configmaps?watch=true HTTP/1.1\r\nHost: server\r\nOrigin: http://server\r\n"+
				"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n")
			must.OK(t, err)
			r := bufio.NewReader(conn)
			for line := "x"; line != "\r\n"; {
				line = must.Get[string](t)(r.ReadString('\n'))
			}
			frame, _ := io.ReadAll(r) // to the cut
			announced, head := uint64(frame[1]), 2
			switch {
			case announced == 126 && len(frame) >= 4:
				announced, head = uint64(binary.BigEndian.Uint16(frame[2:])), 4
				if announced < 126 {
					t.Errorf("%d bytes: the length %d takes 16 bits", size, announced)
				}
			case announced == 127 && len(frame) >= 10:
				announced, head = binary.BigEndian.Uint64(frame[2:]), 10
				if announced <= 65535 {
					t.Errorf("%d bytes: the length %d takes 64 bits", size, announced)
				}
			}
			if len(frame)-head != size || announced != uint64(size)+1 {
				t.Errorf("at %s: a frame of %d announces %d, want one more than %d", rv, len(frame)-head, announced, size)
			}
		})
	}
}
