package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/cmd/internal/cli/clitest"
	"github.com/relist-go/relist/internal/must"
)

func TestMirrorJSON(t *testing.T) {
	server, url := newServer(t, apitest.Options{BookmarkPeriod: 20 * time.Millisecond})
	createConfigMap(t, server, "a", "one")
	createConfigMap(t, server, "b", "two")
	p := start(t, "mirror", "cm", "-A", "--server", url, "-o", "json")
	p.await(`"kind":"synced"`)
	createConfigMap(t, server, "a", "three")
	p.await(`"type":"Added"`)
	p.await(`"kind":"bookmark"`)
	r := p.interrupt()
	if r.status != cli.ExitOK || r.stderr != "" {
		t.Errorf("status %d, stderr %q", r.status, r.stderr)
	}
	has := map[string][]string{
		"delta":    {"type", "key", "uid", "resourceVersion", "inferred"},
		"list":     {"resourceVersion", "items", "pages", "seconds"},
		"watch":    {"resourceVersion"},
		"bookmark": {"resourceVersion"},
		"synced":   {"resourceVersion"},
		"summary": {
			"objects", "resourceVersion", "digest", "lists", "watches", "bookmarks", "relists", "inferredDeletions",
			"deltas", "problems", "syncSeconds", "cpuSeconds", "peakRSSBytes",
		},
	}
	seen := map[string]int{}
	for _, l := range jsonLines(t, r.stdout) {
		kind, _ := l["kind"].(string)
		seen[kind]++
		for _, field := range has[kind] {
			if _, ok := l[field]; !ok {
				t.Errorf("%s is missing in %v", field, l)
			}
		}
	}
	if seen["delta"] != 3 || seen["list"] != 1 || seen["synced"] != 1 || seen["summary"] != 1 || seen["watch"] != 1 {
		t.Errorf("kinds seen: %v", seen)
	}
	if s := summaryOf(t, r.stdout); s["objects"] != 3.0 || s["resourceVersion"] != server.ResourceVersion() {
		t.Errorf("summary = %v", s)
	}
}

func TestMirrorSelects(t *testing.T) {
	server, url := newServer(t, apitest.Options{})
	for _, ns := range []string{"default", "a", "b"} {
		createConfigMap(t, server, ns, "one")
		createConfigMap(t, server, ns, "two")
	}
	for _, tt := range []struct {
		args string
		want float64
	}{
		{"configmaps", 2},
		{"configmap -n a", 2},
		{"cm -A", 6},
		{"cm -A -l app=one", 3},
		{"cm -A --field-selector metadata.name=two", 3},
		{"cm.v1. -n b -l app=one", 1},
		{"cm -n nowhere", 0},
		{"nodes -n a", 0},
		{"cm -A --page-size 1", 6},
	} {
		args := append([]string{"mirror"}, strings.Fields(tt.args)...)
		r := command(t, append(args, "--server", url, "--exit-on-sync", "-o", "json")...)
		if s := summaryOf(t, r.stdout); r.status != cli.ExitOK || s["objects"] != tt.want {
			t.Errorf("%s: status %d, %v objects, want %v; %s", tt.args, r.status, s["objects"], tt.want, r.stderr)
		}
	}
}

func TestMirrorText(t *testing.T) {
	server, url := newServer(t, apitest.Options{})
	createConfigMap(t, server, "a", "one")
	p := start(t, "mirror", "cm", "-A", "--server", url)
	p.await("synced ")
	r := p.interrupt()
	for _, want := range []string{"mirroring configmaps from " + url, "synced     1 object", "\nsummary\n", "objects          1"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("%q is not in:\n%s", want, r.stdout)
		}
	}
	if r.status != cli.ExitOK || strings.Contains(r.stdout, "\x1b") || strings.Contains(r.stdout, "a/one") {
		t.Errorf("status %d:\n%s", r.status, r.stdout)
	}
	r = command(t, "mirror", "cm", "-A", "--server", url, "--for", "300ms")
	if r.status != cli.ExitOK || r.took < 300*time.Millisecond || !strings.Contains(r.stdout, "summary\n") {
		t.Errorf("status %d after %v:\n%s", r.status, r.took, r.stdout)
	}
	r = command(t, "mirror", "cm", "-A", "--server", url, "--exit-on-sync", "--show-initial", "--color", "always")
	if r.status != cli.ExitOK || !strings.Contains(r.stdout, "\x1b[1mdelta\x1b[0m      Replaced a/one") {
		t.Errorf("status %d:\n%s", r.status, r.stdout)
	}
	r = command(t, "mirror", "cm", "-A", "--server", url, "-o", "none", "--exit-on-sync")
	if r.status != cli.ExitOK || !strings.HasPrefix(r.stdout, "summary\n") {
		t.Errorf("-o none: status %d, stdout %q", r.status, r.stdout)
	}
}

func TestMirrorResync(t *testing.T) {
	server, url := newServer(t, apitest.Options{})
	createConfigMap(t, server, "a", "one")
	p := start(t, "mirror", "cm", "-A", "--server", url, "-o", "json", "--resync", "10ms")
	p.await(`"type":"Sync"`)
	if r := p.interrupt(); r.status != cli.ExitOK {
		t.Errorf("status %d", r.status)
	}
}

// A user learns within 5 seconds that a command does not work. Half a second of this is
// for a slow machine.
const _ = uint(5*time.Second - cli.StartTimeout - time.Second/2)

// Every error at the start is printed on one line.
func TestMirrorStartErrors(t *testing.T) {
	t.Parallel()
	server, url := newServer(t, apitest.Options{})
	_, guarded := newServer(t, apitest.Options{Token: "secret"})
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		must.OK(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	if err := server.FailNext(apitest.Failure{Verb: "list", Resource: "secrets", Status: 403, Reason: "Forbidden", Message: "secrets is forbidden:\nUser \"x\" cannot list"}); err != nil {
		t.Error(err)
	}
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"unknown resource":  {[]string{"podz", "--server", url}, `the server has no resource "podz"; did you mean pods?`},
		"unwatchable":       {[]string{"cs", "--server", unwatchable(t)}, "the server does not offer watch on componentstatuses, so it cannot be mirrored"},
		"nobody there":      {[]string{"pods", "--server", closedPort(t)}, "connection refused; is the API server running"},
		"stalled server":    {[]string{"pods", "--server", silentServer(t)}, "did not answer within 4s: check the address"},
		"no kubeconfig":     {[]string{"pods"}, "no API server is named"},
		"missing file":      {[]string{"pods", "--kubeconfig", dir + "/none"}, "name another with --kubeconfig"},
		"broken kubeconfig": {[]string{"pods", "--kubeconfig", file("broken", "{")}, "kubeconfig " + dir + "/broken: "},
		"unknown context":   {[]string{"pods", "--kubeconfig", file("empty", "contexts: []"), "--context", "x"}, `no context "x"`},
		"no credential":     {[]string{"pods", "--server", guarded}, "refuses the credential (401 Unauthorized): check --token"},
		"wrong credential":  {[]string{"pods", "--server", guarded, "--token", "guess"}, "refuses the credential (401 Unauthorized): check --token"},
		"in the clear":      {[]string{"pods", "--server", "http://192.0.2.1", "--token", "guess"}, "http://192.0.2.1 is spoken to without TLS, so that everybody on the way could read the credential: use an https:// address"},
		"missing token":     {[]string{"pods", "--server", url, "--token-file", dir + "/none"}, dir + "/none"},
		"missing authority": {[]string{"pods", "--server", "https://127.0.0.1:1", "--certificate-authority", dir + "/none"}, dir + "/none"},
		"forbidden":         {[]string{"secrets", "-A", "--server", url}, `does not permit this (403): secrets is forbidden: User "x" cannot list`},
		"bad selector":      {[]string{"pods", "--server", url, "--field-selector", "spec.shape=round"}, "refuses the request (400)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // one of them waits for a timeout
			r := command(t, append([]string{"mirror", "-o", "json"}, tt.args...)...)
			if r.status != cli.ExitError || r.stdout != "" {
				t.Errorf("status %d, stdout %q; want %d and nothing", r.status, r.stdout, cli.ExitError)
			}
			if !strings.HasPrefix(r.stderr, "relist mirror: ") || !strings.Contains(r.stderr, tt.want) || strings.Count(r.stderr, "\n") != 1 {
				t.Errorf("stderr = %q, want one line with %q", r.stderr, tt.want)
			}
			if strings.Contains(r.stderr, "guess") {
				t.Error("the token was printed")
			}
			if r.took >= 2*cli.StartTimeout {
				t.Errorf("it took %v: it has waited more than once", r.took)
			}
		})
	}
}

func TestMirrorToken(t *testing.T) {
	_, url := newServer(t, apitest.Options{Token: "secret"})
	r := command(t, "mirror", "pods", "--server", url, "--token", "secret", "--exit-on-sync", "-o", "none")
	if r.status != cli.ExitOK {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
}

// closedPort returns an address at which nobody listens, and nobody else can until the test ends:
// its port is that of a connection.
func closedPort(t *testing.T) string {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must.OK(t, err)
	t.Cleanup(func() { ln.Close() })
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}
	conn, err := dialer.DialContext(t.Context(), "tcp", ln.Addr().String())
	must.OK(t, err)
	t.Cleanup(func() { conn.Close() })
	return "http://" + conn.LocalAddr().String()
}

// silentServer accepts connections and says nothing.
func silentServer(t *testing.T) string {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must.OK(t, err)
	t.Cleanup(func() { ln.Close() }) // the kernel completes handshakes: nobody needs to accept
	return "http://" + ln.Addr().String()
}

// unwatchable returns the address of a server whose only resource cannot be watched.
func unwatchable(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"APIGroupDiscoveryList","items":[{"versions":[{"version":"v1","resources":[`+
			`{"resource":"componentstatuses","shortNames":["cs"],"verbs":["get","list"]}]}]}]}`)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// If the reader of the output, such as head, closes the pipe, the command ends without
// an error.
func TestMirrorBrokenPipe(t *testing.T) {
	t.Parallel()
	server, url := newServer(t, apitest.Options{})
	createConfigMap(t, server, "a", "one")
	for name, args := range map[string][]string{
		"another": {"mirror", "cm", "-A", "--server", url, "-o", "json"},
		"more":    {"demo"},
	} {
		r, w, err := os.Pipe()
		must.OK(t, err)
		stderr := &strings.Builder{}
		ended := make(chan int, 1)
		go func() { ended <- run(t.Context(), args, w, stderr) }()
		if _, err := io.ReadFull(r, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		r.Close()
		createConfigMap(t, server, "a", name)
		select {
		case status := <-ended:
			if status != cli.ExitOK || stderr.String() != "" {
				t.Errorf("%v: status %d, stderr %q", args, status, stderr)
			}
		case <-time.After(clitest.Limit):
			t.Fatalf("%v does not end", args)
		}
		w.Close()
	}
}
