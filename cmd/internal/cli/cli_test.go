package cli

import (
	"errors"
	"io"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// full is a disk without room.
type full struct{ err error }

func (f full) Write([]byte) (int, error) { return 0, f.err }

// Of several errors of the output, the first is told.
func TestStdoutKeepsFirstError(t *testing.T) {
	out := &stdout{out: full{errors.New("first")}}
	_, _ = io.WriteString(out, "x")
	out.out = full{errors.New("second")}
	_, _ = io.WriteString(out, "x")
	if err := out.failed(); err == nil || err.Error() != "first" {
		t.Errorf("failed = %v, want the first error", err)
	}
}

func TestLifetimeShowsItself(t *testing.T) {
	l := lifetime(90 * time.Second)
	if l.String() != "1m30s" {
		t.Errorf("String = %s", l.String())
	}
}

func TestVersionNamesReleaseAndCommit(t *testing.T) {
	settings := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "true"}}
	for _, tt := range []struct {
		info debug.BuildInfo
		want string
	}{
		{debug.BuildInfo{GoVersion: "go1.2", Main: debug.Module{Version: "v1.2.3"}, Settings: settings[:1]}, "v1.2.3 (commit 0123456789ab, go1.2)"},
		{debug.BuildInfo{GoVersion: "go1.2", Main: debug.Module{Version: "v1.2.3"}}, "v1.2.3 (go1.2)"},
		{debug.BuildInfo{GoVersion: "go1.2", Main: debug.Module{Version: "(devel)"}, Settings: settings}, "devel (commit 0123456789ab+changes, go1.2)"},
		{debug.BuildInfo{GoVersion: "go1.2"}, "devel (go1.2)"},
	} {
		if got := versionOf(&tt.info); got != tt.want {
			t.Errorf("versionOf = %q, want %q", got, tt.want)
		}
	}
}

// A message on stderr takes the place of the line at the bottom, and where no line is, it comes as
// it is.
func TestMessagesBesideTheStatusLine(t *testing.T) {
	var out strings.Builder
	if BesideLine(&out, &out) != io.Writer(&out) {
		t.Error("a buffer is taken for a terminal")
	}
	a := aside{&out}
	Complain(a, "status of %s\n", "x")
	if got, want := out.String(), "\r\x1b[Jstatus of x\n"; got != want {
		t.Errorf("got %q want %q", got, want)
	}
	if a.Unwrap() != io.Writer(&out) {
		t.Error("the output is not found")
	}
}
