// Package transports mirrors the same objects over each way to watch and in each
// encoding, through outages, and compares what comes of it.
package transports

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/test/conformance/churn"
	"github.com/relist-go/relist/test/conformance/cluster"
	"github.com/relist-go/relist/test/conformance/command"
)

func TestMain(m *testing.M) { command.Main(m) }

// kills is how often the server is killed.
const kills = 5

// pairs are the transports and encodings.
var pairs = [][2]string{
	{"http", "json"},
	{"http", "protobuf"},
	{"http", "cbor"},
	{"websocket", "json"},
	{"websocket", "protobuf"},
	{"websocket", "cbor"},
}

// server is what is mirrored.
type server struct {
	config *rest.Config
	args   []string // for the command to reach it

	// kill makes the server vanish, and start brings it back.
	kill, start func(t *testing.T)
}

func TestApitest(t *testing.T) {
	t.Parallel()
	testPairs(t, apitestServer(t))
}

func TestKubeAPIServer(t *testing.T) {
	t.Parallel()
	testPairs(t, realServer(t))
}

func testPairs(t *testing.T, s server) {
	w := churn.New(t, s.config, churn.Options{Objects: 1000, Writers: 8})
	w.Fill()
	checkWire(t, s.config)
	mirrors := map[[2]string]*command.Mirror{}
	for _, pair := range pairs {
		args := append([]string{"configmaps", "-A", "--transport", pair[0], "--encoding", pair[1]}, s.args...)
		m := command.StartMirror(t, args...)
		m.AwaitLines(fmt.Sprintf("%v: the first list", pair), func(lines []command.Line) bool {
			return command.Count(lines, command.Kind("synced")) == 1
		})
		mirrors[pair] = m
	}

	stop := w.Churn()
	for range kills {
		w.SomeWrites()
		s.kill(t)
		for pair, m := range mirrors {
			m.AwaitLines(fmt.Sprintf("%v: the end of the watch", pair), func(lines []command.Line) bool { return !watching(lines) })
		}
		s.start(t)
	}
	w.SomeWrites()
	stop()

	want := w.State()
	for _, pair := range pairs {
		m := mirrors[pair]
		m.AwaitLines(fmt.Sprintf("%v: the server's state", pair), func(lines []command.Line) bool { return maps.Equal(command.Fold(lines), want) })
		summary := m.Summary()
		if summary.Digest != want.Digest() {
			t.Errorf("%v: %d objects with digest %s, the server has %d with %s", pair, summary.Objects, summary.Digest, len(want), want.Digest())
		}
		t.Logf("%v: %d objects, %d lists, %d watches, %d relists, %.2f s of CPU", pair, summary.Objects, summary.Lists, summary.Watches, summary.Relists, summary.CPUSeconds)
	}
	t.Logf("%d writes", w.Writes())
}

// watching reports whether a watch is open.
func watching(lines []command.Line) bool {
	for _, l := range slices.Backward(lines) {
		switch l.Kind {
		case "watch":
			return true
		case "watchEnd":
			return false
		}
	}
	return false
}

// apitestServer is our own server. To kill it is to break all its connections and to
// take no new ones for a while.
func apitestServer(t *testing.T) server {
	s := apitest.New(apitest.Options{CBOR: true})
	listener, err := s.Listen("127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return server{
		config: &rest.Config{Host: listener.URL},
		args:   []string{"--server", listener.URL},
		kill:   func(t *testing.T) { must(t, s.Refuse(0)) },
		start:  func(t *testing.T) { must(t, s.Resume()) },
	}
}

// realServer is kube-apiserver, with CBOR, which it does not offer by itself yet.
func realServer(t *testing.T) server {
	c := cluster.New(t, cluster.Options{APIServerFlags: []string{"--feature-gates=CBORServingAndStorage=true"}})
	access := c.Access()
	return server{
		config: &rest.Config{
			Host:            access.URL,
			BearerToken:     access.AdminToken,
			TLSClientConfig: rest.TLSClientConfig{CAFile: access.CAFile},
		},
		args:  []string{"--kubeconfig", c.Kubeconfig()},
		kill:  func(t *testing.T) { must(t, c.KillAPIServer()) },
		start: func(t *testing.T) { must(t, c.StartAPIServer(t.Context())) },
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
