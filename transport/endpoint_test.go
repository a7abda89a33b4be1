package transport

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relist-go/relist/internal/must"
)

// listenUnix serves HTTP on a unix socket until the test ends, and says where.
func listenUnix(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "r") //nolint:usetesting // the path of a socket has to be short
	must.OK(t, err)
	path := filepath.Join(dir, "api.sock")
	ln, err := new(net.ListenConfig).Listen(t.Context(), "unix", path)
	must.OK(t, err)
	srv := &http.Server{Handler: handler, Protocols: new(http.Protocols)}
	srv.Protocols.SetHTTP1(true)
	srv.Protocols.SetUnencryptedHTTP2(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(ln) // always http.ErrServerClosed
	}()
	t.Cleanup(func() {
		srv.Close()
		<-done
		_ = os.RemoveAll(dir)
	})
	return path
}

func TestUnixSocket(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1") // not for a socket
	path := listenUnix(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/watch":
			writeFrames(w, `{"n":1}`)
		case "/missing":
			http.NotFound(w, r)
		default:
			_, _ = io.WriteString(w, r.Proto+" "+r.Host+" "+r.URL.Path)
		}
	})
	for protocol, proto := range map[Protocol]string{ProtocolAuto: "HTTP/1.1", ProtocolHTTP1: "HTTP/1.1", ProtocolHTTP2: "HTTP/2.0"} {
		c := newTestClient(t, Config{Server: "unix://" + path, Protocol: protocol})
		resp, err := c.Get(t.Context(), Request{Path: "/api"})
		if err != nil {
			t.Fatalf("%v: %v", protocol, err)
		}
		body, err := io.ReadAll(resp.Body)
		if resp.Body.Close(); err != nil || string(body) != proto+" localhost /api" {
			t.Errorf("%v: the server saw %q, %v", protocol, body, err)
		}
		s, err := c.Watch(t.Context(), Request{Frames: jsonFrames, Path: "/watch"})
		if err != nil {
			t.Fatalf("%v: %v", protocol, err)
		}
		if frame, err := s.Next(); err != nil || string(frame.Data) != `{"n":1}` {
			t.Errorf("%v: %s, %v", protocol, frame.Data, err)
		}
		s.Close()
		_, err = c.Get(t.Context(), Request{Path: "/missing"})
		checkError(t, err, "get unix://"+path+":/missing: 404 NotFound")
	}
}

func TestUnixSocketThatIsNotThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none")
	_, err := newTestClient(t, Config{Server: "unix://" + path}).Get(t.Context(), Request{Path: "/api"})
	checkError(t, err, "get unix://"+path+":/api: dial unix "+path+": connect: no such file or directory")
}

func TestUnixServersAreChecked(t *testing.T) {
	dial := func(context.Context, string, string) (net.Conn, error) { return nil, io.EOF }
	for _, tt := range []struct {
		cfg     Config
		wantErr string
	}{
		{Config{Server: "unix://run/api.sock"}, "without an absolute path"},
		{Config{Server: "unix:run/api.sock"}, "without an absolute path"},
		{Config{Server: "unix://"}, "without an absolute path"},
		{Config{Server: "unix:///"}, "without an absolute path"},
		{Config{Server: "unix:///run/api.sock?x=pass-word"}, "has a query"},
		{Config{Server: "unix://u:pass-word@/run/api.sock"}, "carries credentials"},
		{Config{Server: "unix:///run/api.sock", Dial: dial}, "cannot be used with Dial"},
		{Config{Server: "unix:///run/api.sock", ProxyURL: "http://proxy"}, "ProxyURL cannot be used"},
	} {
		_, err := NewClient(tt.cfg)
		checkError(t, err, tt.wantErr)
		if strings.Contains(err.Error(), "pass-word") {
			t.Errorf("the error tells a secret: %v", err)
		}
	}
}
