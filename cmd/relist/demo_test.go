package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/relist-go/relist/cmd/internal/cli"
)

// Each fault has two lines: what the server did, and then what relist did, how soon its copy was
// fresh, and what is wrong in what the loop holds.
func TestDemo(t *testing.T) {
	t.Parallel() // most of the time is spent waiting
	r := command(t, "demo", "--duration", "0s")
	if r.status != cli.ExitOK || r.stderr != "" {
		t.Fatalf("status %d, stderr %q\n%s", r.status, r.stderr, r.stdout)
	}
	lines := strings.Split(strings.TrimSuffix(r.stdout, "\n"), "\n")
	for _, line := range lines {
		if len(line) > 80 || strings.ContainsAny(line, "\x1b\r") {
			t.Errorf("for a pipe of 80 columns: %q", line)
		}
	}
	if len(lines) > 29 || lines[len(lines)-1] != "relist's copy matches the server" || !strings.Contains(r.stdout, "relist's copy: all right, after ") {
		t.Errorf("%d lines:\n%s", len(lines), r.stdout)
	}
	result := regexp.MustCompile(`^  (\w.*\w) +\d[\d.]*m?s  (.*)$`)
	var faults, repairs, loop []string
	for i, line := range lines {
		if _, fault, is := strings.Cut(line, " The server "); is && line[0] >= '1' && line[0] <= '9' {
			faults = append(faults, fault)
			m := result.FindStringSubmatch(lines[i+1])
			if m == nil {
				t.Fatalf("after %q comes %q", line, lines[i+1])
			}
			repairs, loop = append(repairs, strings.TrimSpace(m[1])), append(loop, m[2])
		}
	}
	if want := []string{
		"resumes where it was", "goes on, asks for it again", "lists, infers deletions", "lists the newest state",
		"lists again, in one piece", "lists, and never goes back", "notices, lists, repairs", "notices by pings, resumes",
	}; !slices.Equal(repairs, want) {
		t.Fatalf("relist %q, want %q", repairs, want)
	}
	// The loop resumes after a cut, too. An object that it cannot decode stops it, until it is told
	// 410. Then it has all that exists, and what was deleted meanwhile. The versions of the backup
	// hide what has changed.
	if loop[0] != "all right" || !strings.Contains(loop[1], ", lacks ") || !strings.Contains(loop[1], " old") {
		t.Errorf("before the first 410, the loop %q", loop[:2])
	}
	for i, wrong := range loop[2:6] {
		if !regexp.MustCompile(`^keeps \d+ deleted$`).MatchString(wrong) {
			t.Errorf("after %q, the loop %s", faults[i+2], wrong)
		}
	}
	if !regexp.MustCompile(`^keeps \d+ deleted, lacks \d+, \d+ old$`).MatchString(loop[6]) {
		t.Errorf("after %q, the loop %s", faults[6], loop[6])
	}
}

// With --verbose, what relist does stands between, with its times.
func TestDemoVerbose(t *testing.T) {
	t.Parallel() // as above
	r := command(t, "demo", "--duration", "0s", "--verbose")
	after := ""
	for _, want := range []string{
		`s  list  +2000 objects`, `\n1 The`, `s  watchEnd  +connectionLost`, `\n2 The`, `s  problem  +object team-0/limits: `,
		`\n3 The`, `s  delta  +Deleted  .*final state unknown`, `\n6 The`, `tooLarge`, `\n7 The`, `rolledBack`, `\n8 The`, `connection lost`, `\nrelist's copy matches`,
	} {
		after += `(?s:.*)` + want
	}
	if !regexp.MustCompile(after).MatchString(r.stdout) {
		t.Errorf("status %d: not in this order:\n%s", r.status, r.stdout)
	}
}
