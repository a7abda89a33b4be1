package mirror

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/test/conformance/cluster"
	"github.com/relist-go/relist/test/conformance/command"
)

func TestMain(m *testing.M) { command.Main(m) }

const (
	// outages is how often the server is killed. After every second time, it has forgotten what
	// clients have seen.
	outages = 4

	// vanished is how many objects are deleted in each of these, where nobody sees it.
	vanished = 25
)

// pairs are the transports and encodings.
var pairs = [][2]string{
	{"http", "json"},
	{"http", "protobuf"},
	{"websocket", "json"},
	{"websocket", "protobuf"},
}

// TestMirror has a command for each way to watch follow 1,000 objects that 8 writers change,
// through the outages.
func TestMirror(t *testing.T) {
	c := cluster.New(t, cluster.Options{})
	config := c.Access().ClientGo()
	w := newWorld(t, config)
	w.fill()
	mirrors := map[[2]string]*command.Mirror{}
	for _, pair := range pairs {
		m := command.StartMirror(t, "configmaps", "-A", "--transport", pair[0], "--encoding", pair[1], "--kubeconfig", c.Kubeconfig())
		m.AwaitLines(fmt.Sprintf("%v: the first list", pair), func(lines []command.Line) bool {
			return command.Count(lines, command.Kind("synced")) == 1
		})
		mirrors[pair] = m
	}

	unseen := map[string]bool{}
	stop := w.churn()
	for outage := range outages {
		w.someWrites()
		must.OK(t, c.KillAPIServer())
		lists := map[[2]string]int{}
		for pair, m := range mirrors {
			m.AwaitLines(fmt.Sprintf("%v: the end of the watch", pair), func(lines []command.Line) bool { return !watching(lines) })
			lists[pair] = command.Count(m.Lines, command.Kind("list"))
		}
		forgets := outage%2 == 1
		if forgets {
			for range vanished {
				n := w.unseen(len(unseen))
				unseen[n.String()] = true
				must.OK(t, c.DeleteStored(context.WithoutCancel(t.Context()), "configmaps", n.namespace, n.name))
			}
			must.OK(t, c.Compact(t.Context()))
		}
		must.OK(t, c.StartAPIServer(t.Context()))
		for pair, m := range mirrors {
			if forgets {
				m.AwaitLines(fmt.Sprintf("%v: a list after the outage", pair), func(lines []command.Line) bool {
					return command.Count(lines, command.Kind("list")) > lists[pair]
				})
			}
		}
	}
	w.someWrites()
	stop()

	want := w.state()
	for _, pair := range pairs {
		m := mirrors[pair]
		m.AwaitLines(fmt.Sprintf("%v: the server's state", pair), func(lines []command.Line) bool { return maps.Equal(fold(lines), want) })
		summary := m.Summary()
		if summary.Digest != want.Digest() || summary.Objects != len(want) {
			t.Errorf("%v: the summary has %d objects with digest %s, the server has %d with %s", pair, summary.Objects, summary.Digest, len(want), want.Digest())
		}
		checkHistory(t, m.Lines, unseen)
		expired := command.Count(m.Lines, func(l command.Line) bool { return l.Kind == "relist" && l.Reason == "expired" })
		if expired == 0 {
			t.Errorf("%v: the server never said 410; relists: %d", pair, summary.Relists)
		}
		t.Logf("%v: %d objects, %d lists, %d watches, %d relists (%d for 410), %d inferred deletions; %.2f s of CPU, peak RSS %d MB",
			pair, summary.Objects, summary.Lists, summary.Watches, summary.Relists, expired, summary.InferredDeletions, summary.CPUSeconds, summary.PeakRSSBytes>>20)
	}
	t.Logf("%d writes", w.writes.Load())
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
