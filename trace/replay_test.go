package trace

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/relist-go/relist/internal/must"
)

const expired = "../testdata/expired.txt"

// plainDir is where testdata/plain was built, if it was.
var plainDir string

// buildPlain builds testdata/plain once, however often the test is run.
var buildPlain = sync.OnceValues(func() (path string, err error) {
	if plainDir, err = os.MkdirTemp("", "relist-trace-"); err != nil {
		return "", err
	}
	path = filepath.Join(plainDir, "plain")
	args := []string{"build", "-o", path}
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		args = append(args, "-race") // the packages are compiled already as they were for this test
	}
	out, err := exec.Command("go", append(args, "./testdata/plain")...).CombinedOutput()
	if err != nil {
		return "", errors.New(string(out))
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if plainDir != "" {
		_ = os.RemoveAll(plainDir)
	}
	os.Exit(code)
}

// A bubble can be entered in a program that is no test.
func TestReplayInPlainBinary(t *testing.T) {
	path, err := buildPlain()
	must.OK(t, err)
	bad := spoiled(t)
	out, err := exec.CommandContext(t.Context(), path, expired, bad, expired).CombinedOutput()
	if want := expired + " true\n" + bad + " false\n" + expired + " true\n"; string(out) != want || err != nil {
		t.Errorf("output %q, %v\nwant   %q", out, err, want)
	}
}

// The text of a run has the run's lines in place of others, and nothing else is changed.
func TestReplay(t *testing.T) {
	whole, err := os.ReadFile(expired)
	must.OK(t, err)
	for _, name := range []string{expired, spoiled(t)} {
		var lines []string
		got, err := Replay(parsed(t, name), nil, func(line string) { lines = append(lines, line) })
		if failure := (*Failure)(nil); errors.As(err, &failure) != (name != expired) {
			t.Errorf("%s: error %v", name, err)
		}
		if string(got) != string(whole) {
			t.Errorf("%s: the text of the run is\n%s", name, got)
		}
		if conversation := strings.Join(lines, "\n") + "\n"; conversation != string(whole) {
			t.Errorf("%s: the lines are\n%s", name, conversation)
		}
	}
}

// spoiled writes expired.txt with lines that are wrong, missing, and too many.
func spoiled(t *testing.T) string {
	t.Helper()
	src, err := os.ReadFile(expired)
	must.OK(t, err)
	text := strings.NewReplacer(
		"~ 800ms\n", "~ 900ms\n",
		"= synced\n", "",
		"= store default/f@470\n", "= store default/f@470\n= store default/g@1\n",
	).Replace(string(src))
	path := filepath.Join(t.TempDir(), "spoiled.txt")
	must.OK(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}
