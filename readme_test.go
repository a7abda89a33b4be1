package relist

import "testing"

// TestReadmeShowsWhatIsThere keeps the program and the trace in README.md equal to
// the ones that are compiled and run.
func TestReadmeShowsWhatIsThere(t *testing.T) {
	if parts := includedIn(t, "README.md"); len(parts) != 2 {
		t.Errorf("README.md has %d parts from files, want 2", len(parts))
	}
}
