package traces

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/trace"
)

// leastSame is how many traces client-go has to pass. Fewer, and the traces
// would no longer describe the protocol, but relist.
const leastSame = 30

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	// They make whoever meets two errors in a row sleep for a millisecond, by a
	// clock that all runs would share.
	utilruntime.ErrorHandlers = nil
	os.Exit(m.Run())
}

// client-go passes every trace but those that say why not.
func TestTraces(t *testing.T) {
	const dir = "../../../testdata"
	names, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(names) == 0 {
		t.Fatal("no traces", err)
	}
	anchors := headings(t)
	same, differs := 0, 0
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			f := parse(t, name)
			_, err := trace.Replay(f, clientGo, nil)
			anchor := f.Differs()
			if anchor == "" {
				if err != nil {
					t.Errorf("client-go does something else here. If relist is right, say so in the first line, "+
						`"# differs: anchor", and why in docs/differences.md.`+"\n%s", err)
				}
				same++
				return
			}
			differs++
			if !anchors[anchor] {
				t.Errorf("docs/differences.md has no heading with the anchor %q", anchor)
			}
			var failure *trace.Failure
			if !errors.As(err, &failure) || failure.Diff == "" {
				t.Errorf("client-go does the same here: the trace must not say that it differs (error %v)", err)
			}
		})
	}
	if same+differs == len(names) && same < leastSame { // and not only some, by -run
		t.Errorf("client-go does the same in %d traces, want at least %d", same, leastSame)
	}
	t.Logf("same %d, differs %d", same, differs)
}

// parse reads a trace without its problems.
func parse(t *testing.T, name string) *trace.File {
	t.Helper()
	src, err := os.ReadFile(name)
	must.OK(t, err)
	f, err := trace.Parse(name, []byte(withoutProblems(string(src))))
	must.OK(t, err)
	return f
}

// withoutProblems leaves out the lines with "!", and the time above one where
// nothing else happened then.
func withoutProblems(src string) string {
	var kept []string
	for line := range strings.SplitSeq(src, "\n") {
		if strings.HasPrefix(line, "! ") {
			continue
		}
		if last := len(kept) - 1; last >= 0 && strings.HasPrefix(kept[last], "~ ") && !observed(line) {
			kept = kept[:last]
		}
		kept = append(kept, line)
	}
	return strings.Join(kept, "\n")
}

func observed(line string) bool {
	return strings.HasPrefix(line, "> ") || strings.HasPrefix(line, "= ") || strings.HasPrefix(line, "~ ")
}

func TestWithoutProblems(t *testing.T) {
	const (
		src  = "wait\n~ 1s\n! list\n> GET /\n! object a\nwait\n~ 2s\n! list\nstop\n"
		want = "wait\n~ 1s\n> GET /\nwait\nstop\n"
	)
	if got := withoutProblems(src); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
