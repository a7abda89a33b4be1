package docs

import "testing"

// Every test in docs/testing-recipes.md is one that runs.
func TestRecipes(t *testing.T) {
	t.Chdir(root)
	if parts := includedIn(t, "docs/testing-recipes.md"); len(parts) != 4 {
		t.Errorf("found %d parts of files", len(parts))
	}
}
