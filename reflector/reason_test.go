package reflector_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/protocol"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
	"github.com/relist-go/relist/transport"
	"github.com/relist-go/relist/transport/frames"
)

// pace is how many requests follow in the tenth minute of nothing else.
type pace int

const (
	quick pace = 18 // no connection is made, so nobody works for a request
	slow  pace = 2
)

// failures are what may become of a request, with each exported error of transport and frames that
// a reflector can get.
var failures = []struct {
	what   string
	err    any // the error, in the form of a target of errors.As; nil if there is no exported one
	cfg    transport.Config
	dial   func() (net.Conn, error)
	reason reflector.Reason
	pace   pace
}{
	{what: "refused", dial: fails(syscall.ECONNREFUSED), reason: protocol.Unreachable, pace: quick},
	{what: "no such host", dial: fails(&net.DNSError{Err: "no such host", Name: "api.example"}), reason: protocol.Unreachable, pace: quick},
	{what: "no TLS", cfg: transport.Config{Server: "https://api.example"}, dial: sends("no TLS"), reason: protocol.Unreachable, pace: quick},
	{what: "the proxy has no connection", err: new(*transport.ProxyError), cfg: proxied, dial: status(502), reason: protocol.Unreachable, pace: quick},
	{what: "the proxy wants a password", err: new(*transport.ProxyError), cfg: proxied, dial: status(407), reason: protocol.Denied, pace: slow},
	{what: "the plugin fails", cfg: withPlugin, dial: status(500), reason: protocol.Denied, pace: slow},
	{what: "no answer", dial: sends(""), reason: protocol.ConnectionLost, pace: slow},
	{what: "half a head", dial: sends("HTTP/1.1 200 OK\r\nContent-"), reason: protocol.ConnectionLost, pace: slow},
	{what: "half a list", dial: sends(head(100) + `{"kind":"ConfigMapList",`), reason: protocol.ConnectionLost, pace: slow},
	{what: "half a gzip", dial: sends(head(20, "Content-Encoding: gzip") + "\x1f\x8b\x08\x00"), reason: protocol.ConnectionLost, pace: slow},
	{what: "broken gzip", dial: sends(head(20, "Content-Encoding: gzip") + `{"no gzip at all":1}`), reason: protocol.Malformed, pace: slow},
	{what: "deflate", dial: sends(head(5, "Content-Encoding: deflate") + "hello"), reason: protocol.Malformed, pace: slow},
	{what: "a login page", err: new(*transport.UnexpectedContentError), dial: sends(head(5, "Content-Type: text/html") + "<html"), reason: protocol.Malformed, pace: slow},
	{what: "no JSON", dial: sends(head(5) + "hello"), reason: protocol.Malformed, pace: slow},
	{what: "no event", err: new(*frames.Error), dial: sends(head(len(emptyList))+emptyList, head(5)+"hello"), reason: protocol.Malformed, pace: slow},
	{what: "a redirection", dial: status(302), reason: protocol.Failed, pace: slow},
	{what: "400", dial: status(400), reason: protocol.Failed, pace: slow},
	{what: "401", dial: status(401), reason: protocol.Denied, pace: slow},
	{what: "403", dial: status(403), reason: protocol.Denied, pace: slow},
	{what: "404", dial: status(404), reason: protocol.NotFound, pace: slow},
	{what: "407", dial: status(407), reason: protocol.Denied, pace: slow},
	{what: "410", dial: status(410), reason: protocol.Expired, pace: slow},
	{what: "429", dial: status(429), reason: protocol.Throttled, pace: slow},
	{what: "500", dial: status(500), reason: protocol.Failed, pace: slow},
	{what: "502", dial: status(502), reason: protocol.Unavailable, pace: slow},
	{what: "503", dial: status(503), reason: protocol.Unavailable, pace: slow},
	{what: "504", dial: status(504), reason: protocol.Unavailable, pace: slow},
}

// noFailures are the other exported errors, and why no request of a reflector fails with them.
var noFailures = map[string]string{
	"*transport.RequestError":   "it says which request has failed with another error",
	"transport.ErrCleartext":    "NewClient returns it",
	"transport.ErrNotInCluster": "InClusterConfig returns it",
	"*frames.TooLargeError":     "one object is lost, and the watch continues",
}

const emptyList = `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"100"},"items":[]}`

var (
	proxied    = transport.Config{Server: "https://api.example", ProxyURL: "http://proxy.example"}
	withPlugin = transport.Config{Exec: &transport.ExecConfig{Command: "./no-such-plugin", Stderr: io.Discard}, AllowInsecureCredentials: true}
)

func head(length int, lines ...string) string {
	return strings.Join(append([]string{"HTTP/1.1 200 OK", fmt.Sprint("Content-Length: ", length)}, lines...), "\r\n") + "\r\n\r\n"
}

func fails(err error) func() (net.Conn, error) {
	return func() (net.Conn, error) { return nil, err }
}

func status(code int) func() (net.Conn, error) {
	return sends(fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Length: 0\r\n\r\n", code, http.StatusText(code)))
}

// sends returns connections to a server that sends these bytes to a request, and other bytes to a
// watch if there are any, and then ends the connection.
func sends(answers ...string) func() (net.Conn, error) {
	return func() (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			r, err := http.ReadRequest(bufio.NewReader(server))
			if err != nil {
				_, _ = io.WriteString(server, answers[0])
				return
			}
			answer := answers[0]
			if r.URL.Query().Get("watch") != "" {
				answer = answers[len(answers)-1]
			}
			_, _ = io.WriteString(server, answer) // to a client that may be gone
		}()
		return client, nil
	}
}

// Whatever a request fails with has one reason, and each reason one pace.
func TestReasonAndPaceOfEachFailure(t *testing.T) {
	for _, c := range failures {
		t.Run(c.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := c.cfg
				if cfg.Server == "" {
					cfg.Server = "http://api.example"
				}
				cfg.Dial = func(context.Context, string, string) (net.Conn, error) { return c.dial() }
				client, err := transport.NewClient(cfg)
				if err != nil {
					t.Fatal(err)
				}
				defer client.Close()
				lw, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, listwatch.Options[*metav1.PartialObjectMetadata]{})
				if err != nil {
					t.Fatal(err)
				}
				var first reflector.Backoff
				var requests pace
				begun := time.Now()
				trace := &reflector.Trace{Backoff: func(e reflector.Backoff) {
					if first.Err == nil {
						first = e
					}
					if time.Since(begun)/time.Minute == 9 {
						requests++
					}
				}}
				r := reflector.New(lw, reflector.InMemory(store.New(store.Options[*metav1.PartialObjectMetadata]{})), reflector.Options{Rand: zero, Trace: trace})
				stop := running(t, r)
				later(10 * time.Minute)
				stop()
				if first.Reason != c.reason || requests != c.pace {
					t.Errorf("the reason is %v, want %v; %d requests in the tenth minute, want %d: %v", first.Reason, c.reason, requests, c.pace, first.Err)
				}
				if c.err != nil && !errors.As(first.Err, c.err) {
					t.Errorf("there is no %T in %v", c.err, first.Err)
				}
			})
		})
	}
}

// An error that is new in transport has to choose.
func TestEachErrorOfTransportHasAReason(t *testing.T) {
	known := map[string]bool{}
	for name := range noFailures {
		known[name] = true
	}
	for _, c := range failures {
		known[strings.TrimPrefix(fmt.Sprintf("%T", c.err), "*")] = true
	}
	for _, dir := range []string{"transport", "transport/frames"} {
		for _, name := range exportedErrors(t, "../"+dir, path.Base(dir)) {
			if !known[name] {
				t.Errorf("%s has no row in failures, and is not in noFailures", name)
			}
			delete(known, name)
		}
	}
	delete(known, "<nil>")
	for name := range known {
		t.Errorf("there is no %s", name)
	}
}

var errorVar = regexp.MustCompile(`^Err[A-Z]`)

// exportedErrors returns the exported error types and variables of a package.
func exportedErrors(t *testing.T, dir, pkg string) (names []string) {
	t.Helper()
	entries, err := fs.Glob(os.DirFS(dir), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		file, err := parser.ParseFile(token.NewFileSet(), path.Join(dir, entry), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(entry, "_test.go") {
			continue
		}
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Name.Name != "Error" || d.Recv == nil {
					continue
				}
				star, ok := d.Recv.List[0].Type.(*ast.StarExpr)
				if !ok {
					continue
				}
				if name, ok := star.X.(*ast.Ident); ok && name.IsExported() {
					names = append(names, "*"+pkg+"."+name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if v, ok := spec.(*ast.ValueSpec); ok && errorVar.MatchString(v.Names[0].Name) {
						names = append(names, pkg+"."+v.Names[0].Name)
					}
				}
			}
		}
	}
	return names
}
