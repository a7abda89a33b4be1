package record

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/test/conformance/command"
)

func TestMain(m *testing.M) { command.Main(m) }

// recorder is a running relist record -v.
type recorder struct {
	*command.Command
	t    *testing.T
	file string
}

// start runs relist record.
func start(t *testing.T, args ...string) *recorder {
	t.Helper()
	file := filepath.Join(t.TempDir(), "recorded.txt")
	return &recorder{command.Start(t, append([]string{"record", "-v", "-o", file}, args...)...), t, file}
}

// await waits until the conversation has each of texts after the one before it.
func (r *recorder) await(texts ...string) {
	r.t.Helper()
	r.Await(func(out []byte) (string, bool) {
		for _, text := range texts {
			_, rest, found := bytes.Cut(out, []byte(text))
			if !found {
				return fmt.Sprintf("%q", text), false
			}
			out = rest
		}
		return "", true
	})
}

// interrupt ends the recording as Ctrl-C does, and returns the trace.
func (r *recorder) interrupt() string {
	r.t.Helper()
	r.Interrupt()
	text, err := os.ReadFile(r.file)
	must.OK(r.t, err)
	return string(text)
}

// replay runs relist replay on the trace, several times.
func (r *recorder) replay() {
	r.t.Helper()
	for range 5 {
		if out, err := exec.CommandContext(r.t.Context(), command.Path(r.t), "replay", r.file).CombinedOutput(); err != nil {
			r.t.Fatalf("%v\n%s", err, out)
		}
	}
}
