package websocket

import (
	"maps"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/relist-go/relist/conformance/churn"
	"github.com/relist-go/relist/conformance/cluster"
	"github.com/relist-go/relist/conformance/command"
)

func TestMain(m *testing.M) { command.Main(m) }

// kills is how often the server is killed with SIGKILL.
const kills = 5

// TestMirror has the command follow 1,000 objects over WebSocket, while they are written
// and the server is killed and started again.
func TestMirror(t *testing.T) {
	c := cluster.New(t, cluster.Options{})
	access := c.Access()
	w := churn.New(t, &rest.Config{
		Host:            access.URL,
		BearerToken:     access.AdminToken,
		TLSClientConfig: rest.TLSClientConfig{CAFile: access.CAFile},
	}, churn.Options{Objects: 1000, Writers: 8})
	w.Fill()
	m := command.StartMirror(t, "configmaps", "-A", "--transport", "websocket", "--kubeconfig", c.Kubeconfig())
	m.AwaitLines("the first list", func(lines []command.Line) bool { return command.Count(lines, command.Kind("synced")) == 1 })

	stop := w.Churn()
	for range kills {
		w.SomeWrites()
		watches := command.Count(m.Lines, command.Kind("watch"))
		if err := c.KillAPIServer(); err != nil {
			t.Fatal(err)
		}
		if err := c.StartAPIServer(t.Context()); err != nil {
			t.Fatal(err)
		}
		m.AwaitLines("a watch after the kill", func(lines []command.Line) bool {
			return command.Count(lines, command.Kind("watch")) > watches
		})
	}
	w.SomeWrites()
	stop()

	want := w.State()
	m.AwaitLines("the server's state", func(lines []command.Line) bool { return maps.Equal(command.Fold(lines), want) })
	summary := m.Summary()
	if summary.Digest != want.Digest() || summary.Objects != len(want) {
		t.Errorf("summary has %d objects with digest %s, the server has %d with %s", summary.Objects, summary.Digest, len(want), want.Digest())
	}
	cut := command.Count(m.Lines, func(l command.Line) bool { return l.Kind == "watchEnd" && l.Reason == "cut" })
	if cut < kills {
		t.Errorf("%d watches were cut, want one for each of %d kills", cut, kills)
	}
	if stderr := m.Stderr(); len(stderr) > 0 {
		t.Errorf("not everything went over WebSocket:\n%s", stderr)
	}
	t.Logf("%d writes, %d kills; %d lists, %d watches (%d cut), %d relists, digest %s",
		w.Writes(), kills, summary.Lists, summary.Watches, cut, summary.Relists, summary.Digest)
}
