// Command audit runs govulncheck, gosec and staticcheck over a module. It is called in the
// module's folder, with the folder of the three programs:
//
//	audit -tools bin/audit -accepted tools/audit/accepted.txt
//
// What gosec finds has to be accepted in a file, with the reason; what is accepted there
// and no longer found fails too. What staticcheck finds has to be exempted on its line, as
// for the linter. If govulncheck cannot reach its database, audit says so,
// and does not fail for that.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	tools := flag.String("tools", "bin/audit", "`folder` of the three programs")
	accepted := flag.String("accepted", "tools/audit/accepted.txt", "`file` with what gosec finds and may")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := audit(ctx, os.Stdout, *tools, *accepted); err != nil {
		fmt.Fprintf(os.Stderr, "audit: %v\n", err)
		os.Exit(1)
	}
}

func audit(ctx context.Context, out io.Writer, tools, accepted string) error {
	return errors.Join(
		staticcheck(ctx, out, filepath.Join(tools, "staticcheck")),
		gosec(ctx, out, filepath.Join(tools, "gosec"), accepted),
		govulncheck(ctx, out, filepath.Join(tools, "govulncheck")),
	)
}

// staticcheck looks for mistakes (SA); style is the linter's.
func staticcheck(ctx context.Context, out io.Writer, program string) error {
	text, err := exec.CommandContext(ctx, program, "-checks", "SA*", "./...").CombinedOutput()
	left := withoutExempt(string(text))
	_, _ = io.WriteString(out, left)
	if err != nil && (left != "" || len(text) == 0) {
		return fmt.Errorf("staticcheck: %w", err)
	}
	fmt.Fprintln(out, "staticcheck: nothing")
	return nil
}

var (
	place  = regexp.MustCompile(`^(.+):(\d+):\d+: `)
	exempt = regexp.MustCompile(`//nolint:staticcheck // \S`)
)

// withoutExempt leaves out what is found on a line with "//nolint:staticcheck" and a reason. The linter knows this
// directive; staticcheck by itself has another one, which the linter does not know.
func withoutExempt(text string) string {
	var left strings.Builder
	for found := range strings.Lines(text) {
		if m := place.FindStringSubmatch(found); m == nil || !exempt.MatchString(sourceLine(m[1], m[2])) {
			left.WriteString(found)
		}
	}
	return left.String()
}

// sourceLine returns a line of a file, counted from 1, or "" if there is none.
func sourceLine(file, line string) string {
	data, err := os.ReadFile(file)
	n, bad := strconv.Atoi(line)
	if lines := strings.Split(string(data), "\n"); err == nil && bad == nil && n > 0 && n <= len(lines) {
		return lines[n-1]
	}
	return ""
}

// finding is what gosec has found, as a line of the accepted ones begins.
type finding struct {
	Rule    string `json:"rule_id"`
	File    string `json:"file"`
	Line    string `json:"line"`
	Details string `json:"details"`
}

func gosec(ctx context.Context, out io.Writer, program, accepted string) error {
	reasons, err := readAccepted(accepted)
	if err != nil {
		return err
	}
	// The exit status says no more than whether there are findings.
	text, err := exec.CommandContext(ctx, program, "-quiet", "-no-fail", "-fmt", "json", "./...").Output()
	if err != nil {
		return fmt.Errorf("gosec: %w", err)
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	left, err := compare(out, text, here, reasons)
	if err != nil {
		return err
	}
	if left > 0 {
		return fmt.Errorf("gosec: %d findings or lines of %s are new", left, accepted)
	}
	fmt.Fprintf(out, "gosec: nothing but what is accepted (%d kinds)\n", len(reasons))
	return nil
}

// readAccepted reads lines "RULE FILE reason".
func readAccepted(path string) (reasons map[string]string, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	reasons = make(map[string]string)
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if len(fields) < 3 {
			return nil, fmt.Errorf("%s: %q has no reason", path, strings.TrimSpace(line))
		}
		reasons[fields[0]+" "+fields[1]] = strings.Join(fields[2:], " ")
	}
	return reasons, nil
}

// compare prints findings that are not accepted, and accepted ones that are not found, and
// returns their number.
func compare(out io.Writer, report []byte, here string, reasons map[string]string) (left int, err error) {
	var found struct{ Issues []finding }
	if len(bytes.TrimSpace(report)) > 0 { // it says nothing of nothing
		if err := json.Unmarshal(report, &found); err != nil {
			return 0, fmt.Errorf("gosec: %w", err)
		}
	}
	used := make(map[string]bool)
	for _, f := range found.Issues {
		file, err := filepath.Rel(here, f.File)
		if err != nil {
			return 0, err
		}
		key := f.Rule + " " + filepath.ToSlash(file)
		used[key] = true
		if _, ok := reasons[key]; !ok {
			left++
			fmt.Fprintf(out, "gosec: %s:%s: %s (%s)\n", file, f.Line, f.Details, f.Rule)
		}
	}
	var stale []string
	for key := range reasons {
		if !used[key] {
			stale = append(stale, key)
		}
	}
	slices.Sort(stale)
	for _, key := range stale {
		left++
		fmt.Fprintf(out, "gosec: %s is accepted, and no longer found\n", key)
	}
	return left, nil
}

// govulncheck looks for known vulnerabilities in what is called.
func govulncheck(ctx context.Context, out io.Writer, program string) error {
	text, err := exec.CommandContext(ctx, program, "./...").CombinedOutput()
	if err != nil && isUnreachable(text) {
		fmt.Fprintf(out, "govulncheck: its database CANNOT BE REACHED, so nothing is known of vulnerabilities:\n\t%s\n", bytes.TrimSpace(text))
		return nil
	}
	_, _ = out.Write(text)
	if err != nil {
		return fmt.Errorf("govulncheck: %w", err)
	}
	return nil
}

// isUnreachable reports whether govulncheck has failed for want of its database.
func isUnreachable(text []byte) bool {
	return bytes.Contains(text, []byte("govulncheck: fetching vulnerabilities: "))
}
