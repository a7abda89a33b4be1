package mirror

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/relist-go/relist/test/conformance/command"
)

// contentTypes are those of a list and of a watch over HTTP.
var contentTypes = map[string][2]string{
	"json":     {"application/json", "application/json"},
	"protobuf": {"application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf;stream=watch"},
}

// checkWire sees from between the command and the server that both speak what was
// asked for, and that nothing fell back to something else.
func checkWire(t *testing.T, config *rest.Config) {
	t.Helper()
	for _, pair := range pairs {
		between := startWitness(t, config)
		m := command.StartMirror(t, "configmaps", "-A", "--transport", pair[0], "--encoding", pair[1], "--server", between.URL)
		select {
		case <-between.watched:
		case <-time.After(patience):
			t.Fatalf("%v: no answer to a watch within %v", pair, patience)
		}
		m.Summary()

		list, watch := contentTypes[pair[1]][0], "200 "+contentTypes[pair[1]][1]
		if pair[0] == "websocket" {
			watch = "101 websocket"
		}
		if got := between.answer("list"); got != "200 "+list {
			t.Errorf("%v: the list came as %q, want %q", pair, got, "200 "+list)
		}
		if got := between.answer("watch"); got != watch {
			t.Errorf("%v: the watch came as %q, want %q", pair, got, watch)
		}
	}
}

// witness is a proxy that takes note of how lists and watches are answered.
type witness struct {
	*httptest.Server

	watched chan struct{} // closed when a watch has been answered

	mu      sync.Mutex
	answers map[string]string // the first of a verb
}

func startWitness(t *testing.T, config *rest.Config) *witness {
	t.Helper()
	config = rest.CopyConfig(config)
	config.NextProtos = []string{"http/1.1"} // WebSocket is nothing for HTTP/2
	transport, err := rest.TransportFor(config)
	must(t, err)
	server, err := url.Parse(config.Host)
	must(t, err)
	w := &witness{answers: map[string]string{}, watched: make(chan struct{})}
	w.Server = httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(server)
			r.Out.Host = r.In.Host // the Origin of a WebSocket names it, too
		},
		Transport:      transport,
		FlushInterval:  -1,
		ModifyResponse: w.note,
	})
	t.Cleanup(w.Close)
	return w
}

func (w *witness) note(resp *http.Response) error {
	if resp.Request.URL.Path != "/api/v1/configmaps" {
		return nil
	}
	verb, how := "list", resp.Header.Get("Content-Type")
	if resp.Request.URL.Query().Has("watch") {
		verb = "watch"
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		how = resp.Header.Get("Upgrade")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.answers[verb] != "" {
		return nil
	}
	w.answers[verb] = fmt.Sprintf("%d %s", resp.StatusCode, how)
	if verb == "watch" {
		close(w.watched)
	}
	return nil
}

// answer is how a verb was answered first.
func (w *witness) answer(verb string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.answers[verb]
}
