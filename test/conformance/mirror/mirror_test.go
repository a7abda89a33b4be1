package mirror

import (
	"context"
	"maps"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/test/conformance/churn"
	"github.com/relist-go/relist/test/conformance/cluster"
	"github.com/relist-go/relist/test/conformance/command"
)

func TestMain(m *testing.M) { command.Main(m) }

// vanished is how many objects are deleted where nobody sees it.
const vanished = 50

// server is what the command mirrors.
type server struct {
	config *rest.Config
	args   []string // for the command to reach it

	// outage makes the server vanish, deletes some objects where nobody sees it,
	// and brings the server back without the events that led there.
	outage func(t *testing.T, names []churn.Name)
}

// TestMirror has the command follow 5,000 objects that 20 writers change, through
// two outages in which objects vanish unseen.
func TestMirror(t *testing.T) {
	for _, s := range []struct {
		name  string
		start func(*testing.T) server
	}{{"apitest", apitestServer}, {"kube-apiserver", realServer}} {
		t.Run(s.name, func(t *testing.T) { testMirror(t, s.start(t)) })
	}
}

func testMirror(t *testing.T, s server) {
	w := churn.New(t, s.config, churn.Options{Unseen: vanished})
	w.Fill()
	c := command.StartMirror(t, append([]string{"configmaps", "-A"}, s.args...)...)
	c.AwaitLines("the first list", func(lines []command.Line) bool { return command.Count(lines, command.Kind("synced")) == 1 })

	unseen := map[string]bool{}
	stop := w.Churn()
	for outage := range 2 {
		w.SomeWrites()
		var names []churn.Name
		for i := range vanished / 2 {
			n := w.Unseen(outage*vanished/2 + i)
			names = append(names, n)
			unseen[n.String()] = true
		}
		lists := 1 + outage
		s.outage(t, names)
		c.AwaitLines("a list after the outage", func(lines []command.Line) bool { return command.Count(lines, command.Kind("list")) > lists })
	}
	w.SomeWrites()
	stop()

	want := w.State()
	c.AwaitLines("the server's state", func(lines []command.Line) bool { return maps.Equal(command.Fold(lines), want) })
	summary := c.Summary()
	lines := c.Lines

	if summary.Digest != want.Digest() || summary.Objects != len(want) {
		t.Errorf("summary has %d objects with digest %s, the server has %d with %s", summary.Objects, summary.Digest, len(want), want.Digest())
	}
	checkHistory(t, lines, unseen)
	expired := command.Count(lines, func(l command.Line) bool { return l.Kind == "relist" && l.Reason == "expired" })
	if expired == 0 {
		t.Errorf("the server never said 410; relists: %d", command.Count(lines, command.Kind("relist")))
	}
	t.Logf("%d writes; %d lines: %d lists, %d watches, %d relists (%d for 410), %d tombstones; %.2f s of CPU, peak RSS %d MB",
		w.Writes(), len(lines), summary.Lists, summary.Watches, summary.Relists, expired, summary.Tombstones,
		summary.CPUSeconds, summary.PeakRSSBytes>>20)
}

// apitestServer is our own server.
func apitestServer(t *testing.T) server {
	s := apitest.New(apitest.Options{})
	listener, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return server{
		config: &rest.Config{Host: listener.URL},
		args:   []string{"--server", listener.URL},
		outage: func(t *testing.T, names []churn.Name) {
			must(t, s.Refuse(0))
			for _, n := range names {
				if _, err := s.Delete("configmaps", n.Namespace, n.Name); err != nil {
					t.Error(err)
				}
			}
			s.Compact()
			must(t, s.Resume())
		},
	}
}

// realServer is kube-apiserver. It is killed, and what it kept in memory with it.
func realServer(t *testing.T) server {
	c := cluster.New(t, cluster.Options{})
	access := c.Access()
	return server{
		config: &rest.Config{
			Host:            access.URL,
			BearerToken:     access.AdminToken,
			TLSClientConfig: rest.TLSClientConfig{CAFile: access.CAFile},
		},
		args: []string{"--kubeconfig", c.Kubeconfig()},
		outage: func(t *testing.T, names []churn.Name) {
			must(t, c.KillAPIServer())
			for _, n := range names {
				must(t, c.DeleteStored(context.WithoutCancel(t.Context()), "configmaps", n.Namespace, n.Name))
			}
			_, err := c.Compact(t.Context(), 0)
			must(t, err)
			must(t, c.StartAPIServer(t.Context()))
		},
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
