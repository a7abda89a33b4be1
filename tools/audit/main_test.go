package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fake writes a program that prints a text and ends with a status.
func fake(t *testing.T, text, status string) string {
	t.Helper()
	dir := t.TempDir()
	program, output := filepath.Join(dir, "program"), filepath.Join(dir, "output")
	if err := os.WriteFile(output, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\ncat '"+output+"'\nexit "+status+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return program
}

func TestGovulncheckWithoutItsDatabase(t *testing.T) {
	for _, tt := range []struct {
		text, status, want string
		fails              bool
	}{
		{"No vulnerabilities found.\n", "0", "No vulnerabilities found.\n", false},
		{"Vulnerability #1: GO-2026-0001\n", "3", "Vulnerability #1: GO-2026-0001\n", true},
		{"govulncheck: fetching vulnerabilities: Get \"https://vuln.go.dev/index/modules.json.gz\": no such host\n", "1", "its database CANNOT BE REACHED, so nothing is known", false},
		{"govulncheck: loading packages: no such package\n", "1", "loading packages", true},
	} {
		var out strings.Builder
		err := govulncheck(context.Background(), &out, fake(t, tt.text, tt.status))
		if (err != nil) != tt.fails || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%q, status %s: error %v, printed %q", tt.text, tt.status, err, out.String())
		}
	}
}

func TestStaticcheck(t *testing.T) {
	source := filepath.Join(t.TempDir(), "a.go")
	if err := os.WriteFile(source, []byte("package a\nold() //nolint:staticcheck // clients send it\nold()\nold() //nolint:staticcheck\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	found := func(line string) string { return source + ":" + line + ":1: old is deprecated (SA1019)\n" }
	for _, tt := range []struct {
		name, text, status, want string
		fails                    bool
	}{
		{"nothing", "", "0", "staticcheck: nothing\n", false},
		{"exempt", found("2"), "1", "staticcheck: nothing\n", false},
		{"new", found("2") + found("3"), "1", found("3"), true},
		{"exempt without a reason", found("4"), "1", found("4"), true},
		{"no such line", found("9"), "1", found("9"), true},
		{"it does not compile", "-: no such package (compile)\n", "1", "-: no such package (compile)\n", true},
		{"it cannot run", "", "2", "", true},
	} {
		var out strings.Builder
		err := staticcheck(context.Background(), &out, fake(t, tt.text, tt.status))
		if (err != nil) != tt.fails || out.String() != tt.want {
			t.Errorf("%s: error %v, printed %q", tt.name, err, out.String())
		}
	}
}

func TestGosec(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	issue := func(rule, file string) string {
		return `{"rule_id":"` + rule + `","file":"` + filepath.Join(here, file) + `","line":"7","details":"bad"}`
	}
	for _, tt := range []struct {
		name, found, accepted, want string
		fails                       bool
	}{
		{"nothing", "", "", "nothing but what is accepted (0 kinds)", false},
		{"accepted", issue("G1", "a/b.go") + "," + issue("G1", "a/b.go"), "# why\nG1 a/b.go it is meant\n", "(1 kinds)", false},
		{"new", issue("G1", "a/b.go"), "", "gosec: a/b.go:7: bad (G1)", true},
		{"another rule", issue("G2", "a/b.go"), "G1 a/b.go it is meant\n", "gosec: a/b.go:7: bad (G2)", true},
		{"no longer there", "", "G1 a/b.go it is meant\n", "G1 a/b.go is accepted, and no longer found", true},
		{"without a reason", "", "G1 a/b.go\n", "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			accepted := filepath.Join(t.TempDir(), "accepted.txt")
			if err := os.WriteFile(accepted, []byte(tt.accepted), 0o600); err != nil {
				t.Fatal(err)
			}
			report := ""
			if tt.found != "" {
				report = `{"Issues":[` + tt.found + `]}`
			}
			var out strings.Builder
			err := gosec(context.Background(), &out, fake(t, report, "0"), accepted)
			if (err != nil) != tt.fails || !strings.Contains(out.String(), tt.want) {
				t.Errorf("error %v, printed %q", err, out.String())
			}
		})
	}
}
