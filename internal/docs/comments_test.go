package docs

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/relist-go/relist/internal/must"
)

// The text of a comment wraps at 100 columns, with a tab of four, so that it can be read beside
// another window. Lists, outputs of examples and comments behind code are as long as they are.
func TestCommentsWrap(t *testing.T) {
	t.Chdir(root)
	for _, file := range files(t, ".go") {
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, file, nil, parser.ParseComments)
		must.OK(t, err)
		lines := strings.Split(readText(t, file), "\n")
		for _, group := range tree.Comments {
			for _, comment := range group.List {
				if comment.Text == "// Output:" || comment.Text == "// Unordered output:" {
					break
				}
				at := set.Position(comment.Pos())
				text, isText := strings.CutPrefix(comment.Text, "// ")
				indent := 4 * (at.Column - 1)
				isText = isText && !strings.ContainsAny(text[:1], " \t|") && strings.TrimSpace(lines[at.Line-1][:at.Column-1]) == ""
				if long := indent+len([]rune(comment.Text)) > 100; long && isText && strings.Contains(text[:100-indent-3], " ") {
					t.Errorf("%s:%d: wrap this comment at 100 columns", file, at.Line)
				}
			}
		}
	}
}
