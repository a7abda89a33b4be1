package trace

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
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
	out, err := exec.Command("go", "build", "-o", path, "./testdata/plain").CombinedOutput()
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
	if err != nil {
		t.Fatal(err)
	}
	bad := spoiled(t)
	out, err := exec.CommandContext(t.Context(), path, expired, bad, expired).CombinedOutput()
	want := expired + " true\n" + bad + " false\n" + expired + " true\n" + bad + ": differs from the file\n"
	if string(out) != want || err == nil {
		t.Errorf("output %q, %v\nwant   %q and exit status 1", out, err, want)
	}
}

func TestReplay(t *testing.T) {
	bad := spoiled(t)
	var done, lines []string
	err := Replay(ReplayOptions{
		Line: func(_, line string) { lines = append(lines, line) },
		Done: func(file string, err error) {
			done = append(done, file)
			var failure *Failure
			if errors.As(err, &failure) != (file == bad) {
				t.Errorf("%s: %v", file, err)
			}
		},
	}, bad, expired)
	if err == nil || err.Error() != bad+": differs from the file" {
		t.Errorf("error %v", err)
	}
	if want := []string{bad, expired}; !slices.Equal(done, want) {
		t.Errorf("done %q, want %q", done, want)
	}
	whole, err := os.ReadFile(expired)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(lines, "\n") + "\n"; got != string(whole)+string(whole) {
		t.Errorf("the conversation is not that of the file, twice:\n%s", got)
	}
}

func TestReplayNoFile(t *testing.T) {
	if err := Replay(ReplayOptions{}, "none.txt"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want one of a file that does not exist", err)
	}
}

// Updating puts the run's lines in place of others, and changes nothing else.
func TestReplayUpdate(t *testing.T) {
	bad := spoiled(t)
	if err := Replay(ReplayOptions{Update: true}, bad); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(bad)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(expired)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("updated to\n%s", got)
	}
}

// spoiled writes expired.txt with lines that are wrong, missing, and too many.
func spoiled(t *testing.T) string {
	t.Helper()
	src, err := os.ReadFile(expired)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer(
		"~ 800ms\n", "~ 900ms\n",
		"= synced\n", "",
		"= store default/f@470\n", "= store default/f@470\n= store default/g@1\n",
	).Replace(string(src))
	path := filepath.Join(t.TempDir(), "spoiled.txt")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}
