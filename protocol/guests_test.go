package protocol_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relist-go/relist/internal/programs"
	"github.com/relist-go/relist/protocol"
	"github.com/relist-go/relist/trace"
)

// ladder has the machines that play a trace, one after the other, until one does what the file
// says. The last one is whole.
var ladder = []struct {
	name string
	has  protocol.Guests
}{
	{"alone", protocol.Guests{}},
	{"quarantine", protocol.Guests{Quarantine: true}},
	{"history", protocol.Guests{Quarantine: true, History: true}},
	{"verify", protocol.Guests{Quarantine: true, Verify: true}},
	{"saved", protocol.Guests{Quarantine: true, Saved: true}},
	{"several", protocol.Guests{Quarantine: true, History: true, Verify: true, Saved: true}},
}

const guestsHead = `Which golden traces need a guest of the machine. The page is written by
go test ./protocol -run TestGuests -update; do not edit it.

A trace needs "quarantine" if it passes with the conversation and the quarantine, and not with the conversation
alone; it needs "history", "verify" or "saved" if it passes with these and that one; and "several" otherwise.
Those that are not named pass with the conversation alone.

`

// The conversation is a client by itself. Without a guest it plays every golden trace that is not
// about what the guest is for. An object that it cannot use is a problem that it reports, and
// whatever the server does, it sends few requests more.
func TestGuests(t *testing.T) {
	names, err := filepath.Glob("../testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	passed, all := map[string]int{}, 0
	var rows strings.Builder
	for _, path := range names {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if f := parse(t, path, src); f.Program() != "mirror" {
			continue
		}
		all++
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		alone := play(t, path, src, protocol.Guests{})
		needs := need(t, path, src, alone)
		if passed[needs]++; needs == "alone" {
			continue
		}
		fmt.Fprintf(&rows, "%-40s %s\n", name, needs)
		if sent, most := lines(alone, "> "), lines(upTo(src, alone), "> "); 2*sent > 3*most+4 {
			t.Errorf("%s: the conversation alone sends %d requests: does it end?\n%s", name, sent, alone)
		}
		if needs == "quarantine" && lines(alone, "! ") == 0 {
			t.Errorf("%s: the conversation alone reports no problem", name)
		}
	}
	head := guestsHead + fmt.Sprintf("%d traces; ", all)
	for i, rung := range ladder {
		if head += fmt.Sprintf("%s: %d", rung.name, passed[rung.name]); i < len(ladder)-1 {
			head += ", "
		}
	}
	page := head + "\n\n" + rows.String()
	const file = "testdata/guests.txt"
	if *protocol.Rewrite {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != page {
		t.Errorf("%s is not what the traces need; run go test ./protocol -run TestGuests -update, and read the diff. It is now:\n%s", file, page)
	}
}

// upTo returns the part of a trace that a run has played: a run ends at the first line of the
// server or of the user that nobody waits for.
func upTo(src, run []byte) []byte {
	said := func(line []byte) bool {
		return len(line) < 2 || line[1] != ' ' || !bytes.ContainsRune([]byte(">=!~"), rune(line[0]))
	}
	left := 0
	for line := range bytes.Lines(run) {
		if said(line) {
			left++
		}
	}
	end := 0
	for line := range bytes.Lines(src) {
		if said(line) {
			if left--; left < 0 {
				break
			}
		}
		end += len(line)
	}
	return src[:end]
}

// need returns the first rung of the ladder that does what a trace says. alone is what the first
// one does.
func need(t *testing.T, path string, src, alone []byte) string {
	t.Helper()
	if bytes.Equal(alone, src) {
		return "alone"
	}
	for _, rung := range ladder[1:] {
		if bytes.Equal(play(t, path, src, rung.has), src) {
			return rung.name
		}
	}
	t.Errorf("%s: the whole machine does something else", path)
	return ""
}

func lines(text []byte, begin string) int { return bytes.Count(text, []byte("\n"+begin)) }

func parse(t *testing.T, path string, src []byte) *trace.File {
	t.Helper()
	f, err := trace.Parse(path, src)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// play returns the text of a run in which the machine has only these guests.
func play(t *testing.T, path string, src []byte, has protocol.Guests) []byte {
	t.Helper()
	got, _ := trace.Replay(parse(t, path, src), programs.Only(has), nil) // a run that differs returns an error, and its text
	return got
}
