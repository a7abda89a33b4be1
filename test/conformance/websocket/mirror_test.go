package websocket

import (
	"maps"
	"math"
	"strconv"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/relist-go/relist/test/conformance/churn"
	"github.com/relist-go/relist/test/conformance/cluster"
	"github.com/relist-go/relist/test/conformance/command"
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
	for kill := range kills {
		m.AwaitLines("a watch that brings something", func(lines []command.Line) bool {
			open, cut := watches(t, lines)
			return open && cut == kill
		})
		w.SomeWrites()
		if err := c.KillAPIServer(); err != nil {
			t.Fatal(err)
		}
		if err := c.StartAPIServer(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.SomeWrites()
	stop()

	want := w.State()
	m.AwaitLines("the server's state", func(lines []command.Line) bool { return maps.Equal(command.Fold(lines), want) })
	summary := m.Summary()
	if summary.Digest != want.Digest() || summary.Objects != len(want) {
		t.Errorf("summary has %d objects with digest %s, the server has %d with %s", summary.Objects, summary.Digest, len(want), want.Digest())
	}
	_, cut := watches(t, m.Lines)
	if cut != kills {
		t.Errorf("%d watches that had brought something were cut, want one for each of %d kills", cut, kills)
	}
	if stderr := m.Stderr(); len(stderr) > 0 {
		t.Errorf("not everything went over WebSocket:\n%s", stderr)
	}
	t.Logf("%d writes, %d kills; %d lists, %d watches (%d cut), %d relists, digest %s",
		w.Writes(), kills, summary.Lists, summary.Watches, cut, summary.Relists, summary.Digest)
}

// watches reports whether a watch is open that has brought something, and how many of
// those have ended. What is newer than a watch began with has come by it.
func watches(t *testing.T, lines []command.Line) (open bool, cut int) {
	t.Helper()
	version := func(l command.Line) uint64 {
		v, err := strconv.ParseUint(l.ResourceVersion, 10, 64)
		if err != nil {
			t.Fatalf("%+v: %v", l, err)
		}
		return v
	}
	began := uint64(math.MaxUint64)
	for _, l := range lines {
		switch l.Kind {
		case "watch":
			began, open = version(l), false
		case "delta":
			open = open || version(l) > began
		case "watchEnd":
			if open {
				cut++
			}
			began, open = math.MaxUint64, false
		}
	}
	return open, cut
}
