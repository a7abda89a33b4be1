package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestMain lets the test binary be the processes that the command starts.
func TestMain(m *testing.M) {
	if os.Getenv("WARMSTART_TEST") != "" && len(os.Args) > 1 && (os.Args[1] == "-serve" || os.Args[1] == "-start") {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var row = regexp.MustCompile(`^(cold|warm) +\S+s +\S+s +(\d+) +(\d+) +\d+ +\d+ +\d`)

// A warm start lists nothing, whatever the type, and a cold one lists everything.
func TestWarmStartListsNothing(t *testing.T) {
	t.Setenv("WARMSTART_TEST", "1")
	for _, slim := range []bool{false, true} {
		var out strings.Builder
		o := options{objects: 300, data: "../../../../testdata/pods-300.json.gz", starts: 1, resource: "pods", slim: slim}
		if err := compare(t.Context(), o, &out); err != nil {
			t.Fatal(err)
		}
		listed := map[string]string{}
		for line := range strings.Lines(out.String()) {
			if m := row.FindStringSubmatch(line); m != nil {
				listed[m[1]] = m[2] + " listed, " + m[3] + " asked"
			}
		}
		if listed["cold"] != "300 listed, 0 asked" || listed["warm"] != "0 listed, 1 asked" {
			t.Errorf("slim %v:\n%s", slim, &out)
		}
	}
}
