package kubectl

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/test/conformance/command"
)

func TestMain(m *testing.M) { command.Main(m) }

// A served is a running relist serve, a kubectl that meets its faults, and a client that meets none.
type served struct {
	*shell
	url    string
	proto  string // that kubectl has to use
	relist *command.Command
	client *http.Client
	read   int // bytes of the log that were waited for
}

// serve starts relist serve, with the ConfigMaps a and b in the namespace default.
func serve(t *testing.T, flags ...string) *served {
	t.Helper()
	s := &served{proto: "HTTP/1.1", relist: command.Start(t, append([]string{"serve", "--log"}, flags...)...)}
	addresses := regexp.MustCompile(`(?:ca (.*)\n)?serving (.*)\n`)
	var found [][]byte
	s.relist.Await(func(out []byte) (string, bool) {
		found = addresses.FindSubmatch(out)
		return "the address", found != nil
	})
	authority := string(found[1])
	s.url = string(found[2])
	transport := &http.Transport{DisableKeepAlives: true, ForceAttemptHTTP2: true}
	s.client = &http.Client{Transport: transport, Timeout: patience}
	connect := []string{"--server=" + s.url}
	if authority != "" {
		s.proto = "HTTP/2.0"
		// Without a credential, kubectl asks its user for a name and a password.
		connect = append(connect, "--certificate-authority="+authority, "--token=any")
		pem, err := os.ReadFile(authority)
		if err != nil {
			t.Fatal(err)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool()}
		transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem)
	}
	s.shell = newShell(t, connect...)
	for _, name := range []string{"a", "b"} {
		s.create(t, name)
	}
	return s
}

const configMaps = "/api/v1/namespaces/default/configmaps"

func (s *served) create(t *testing.T, name string) {
	t.Helper()
	s.request(t, http.MethodPost, configMaps, `{"metadata":{"name":"`+name+`"},"data":{"k":"1"}}`)
}

// patch changes a ConfigMap by a merge patch.
func (s *served) patch(t *testing.T, name, patch string) {
	t.Helper()
	s.request(t, http.MethodPatch, configMaps+"/"+name, patch)
}

// fault asks for a fault, as curl does: "cut?next=1".
func (s *served) fault(t *testing.T, fault string) {
	t.Helper()
	s.request(t, http.MethodPost, "/_faults/"+fault, "")
}

// refuse closes the port for so long. The answer is lost with its connection.
func (s *served) refuse(t *testing.T, d time.Duration) {
	t.Helper()
	answer, err := s.do(t, http.MethodPost, "/_faults/refuse?for="+d.String(), "")
	if err == nil {
		t.Fatalf("refuse was answered: %s", answer)
	}
}

// awaitPort waits until the port is open again.
func (s *served) awaitPort(t *testing.T) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		_, err := s.do(t, http.MethodGet, "/readyz", "")
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the port is closed for more than %v: %v", patience, err)
		}
	}
}

// request sends a request that meets no fault and has to succeed.
func (s *served) request(t *testing.T, method, path, body string) {
	t.Helper()
	if _, err := s.do(t, method, path, body); err != nil {
		t.Fatal(err)
	}
}

func (s *served) do(t *testing.T, method, path, body string) (answer string, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Relist-Faults", "off")
	req.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode > http.StatusCreated {
		err = fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	return string(text), err
}

// kubectl runs a command to its end, see shell.run.
func (s *served) kubectl(t *testing.T, stdin, args string) string {
	t.Helper()
	return s.hide(s.run(t, stdin, strings.Fields(args)...))
}

var (
	logged  = regexp.MustCompile(`(?m)^[IWE]\d{4} .*\n`) // what client-go logs, with the time
	ownPort = regexp.MustCompile(`127\.0\.0\.1:\d+->`)
	stream  = regexp.MustCompile(`stream ID \d+;`)
	patched = regexp.MustCompile(`(?s)(applying patch|configuration of):\n.*\n(for|from server for): `)
)

// hide replaces the address of the server, and leaves out what is another in each run, or long.
func (s *served) hide(out string) string {
	out = patched.ReplaceAllString(ownPort.ReplaceAllString(logged.ReplaceAllString(out, ""), "PORT->"), "$1 ... ")
	out = stream.ReplaceAllString(out, "stream;")
	u, err := url.Parse(s.url)
	if err != nil {
		panic("the server has printed no URL: " + err.Error())
	}
	return strings.ReplaceAll(strings.ReplaceAll(out, s.url, "URL"), u.Host, "HOST")
}

// logLine is a line of relist serve --log for a request of kubectl's for ConfigMaps: the protocol, the method, the query,
// what was answered, and that a watch begins.
var logLine = regexp.MustCompile(`(?m)^\S+ (HTTP/\S+) (\w+) "/api/v1/namespaces/default/configmaps([^"]*)" (\w+), (watching)?.*by "kubectl.*\n`)

// awaitWatch waits until a watch of kubectl's has begun that was not waited for before.
func (s *served) awaitWatch(t *testing.T) {
	t.Helper()
	s.awaitWatchWith(t, "")
}

// awaitWatchWith is awaitWatch of a watch that has this in its query.
func (s *served) awaitWatchWith(t *testing.T, query string) {
	t.Helper()
	s.relist.AwaitStderr(func(log []byte) (string, bool) {
		for _, m := range logLine.FindAllSubmatchIndex(log[s.read:], -1) {
			if m[10] >= 0 && bytes.Contains(log[s.read:][m[6]:m[7]], []byte(query)) {
				s.read += m[1]
				return "", true
			}
		}
		return "a watch", false
	})
}

// awaitAnswers waits until all of kubectl's requests for ConfigMaps, but watches, were answered so.
func (s *served) awaitAnswers(t *testing.T, want []string) {
	t.Helper()
	s.relist.AwaitStderr(func(log []byte) (string, bool) {
		t.Helper()
		var got []string
		for _, m := range logLine.FindAllSubmatch(log, -1) {
			if proto := string(m[1]); proto != s.proto {
				t.Fatalf("kubectl uses %s, want %s", proto, s.proto)
			}
			if !strings.Contains(string(m[3]), "watch=") {
				got = append(got, string(m[2])+" "+string(m[4]))
			}
		}
		return fmt.Sprintf("answers %q, want %q", got, want), slices.Equal(got, want)
	})
}
