package docs

import (
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/relist-go/relist/internal/must"
)

var (
	pageHeading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notInAnchor = regexp.MustCompile(`[^a-z0-9 -]`)
	rowAnchor   = regexp.MustCompile(`<a id="([^"]+)">`)

	// nameInComment is a doc link: Name, Type.Name, package.Name or package.Type.Name in brackets.
	// The name need not be exported.
	nameInComment = regexp.MustCompile(`(?:^|[\s(])\[\*?([A-Za-z_]\w*(?:\.\w+){0,2})\]`)
)

// A link from a page to a file of the repository, or to a heading of a page, leads somewhere.
func TestPagesHaveNoDeadLinks(t *testing.T) {
	t.Chdir(root)
	for _, page := range pages(t) {
		for _, match := range link.FindAllStringSubmatch(readText(t, page), -1) {
			target, anchor, _ := strings.Cut(match[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			file := page
			if target != "" {
				file = filepath.Join(filepath.Dir(page), target)
			}
			switch {
			case len(glob(t, file)) == 0:
				t.Errorf("%s: dead link %s", page, match[1])
			case anchor != "" && filepath.Ext(file) == ".md" && !slices.Contains(anchorsOf(readText(t, file)), anchor):
				t.Errorf("%s: %s has no such heading", page, match[1])
			}
		}
	}
}

// docs/README.md leads to every page: by a link of its own, or by the README.md of the page's
// folder.
func TestMapLeadsToEveryPage(t *testing.T) {
	t.Chdir(root)
	linked := func(from, to string) bool {
		return slices.ContainsFunc(link.FindAllStringSubmatch(readText(t, from), -1), func(match []string) bool {
			target, _, _ := strings.Cut(match[1], "#")
			return path.Join(path.Dir(from), target) == to
		})
	}
	const mapPage = "docs/README.md"
	for _, page := range pages(t) {
		index := path.Join(path.Dir(page), "README.md")
		switch {
		case page == mapPage || page == "README.md" || strings.HasPrefix(page, ".github/"):
		case linked(mapPage, page):
		case len(glob(t, index)) == 1 && index != page && linked(mapPage, index) && linked(index, page):
		default:
			t.Errorf("%s does not lead to %s", mapPage, page)
		}
	}
}

// anchorsOf returns how the headings of a page are linked to: in small letters, with hyphens for
// spaces and nothing for punctuation. The rows of docs/states.md name theirs.
func anchorsOf(page string) []string {
	var anchors []string
	for _, match := range pageHeading.FindAllStringSubmatch(page, -1) {
		anchor := notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(match[1])), "")
		anchors = append(anchors, strings.ReplaceAll(anchor, " ", "-"))
	}
	for _, match := range rowAnchor.FindAllStringSubmatch(page, -1) {
		anchors = append(anchors, match[1])
	}
	return anchors
}

// A name in brackets in a comment of a Go file is a declaration of the package, or of a package
// that it imports; or the comment defines it as a link to an address.
func TestCommentsHaveNoDeadLinks(t *testing.T) {
	t.Chdir(root)
	set := token.NewFileSet()
	files := goFiles(t, set)
	packages := map[string]*doc.Package{}
	for importPath, trees := range files {
		p, err := doc.NewFromFiles(set, slices.Clone(trees), importPath, doc.AllDecls|doc.AllMethods|doc.PreserveAST)
		must.OK(t, err)
		packages[importPath] = p
	}
	for importPath, trees := range files {
		for _, tree := range trees {
			for _, group := range tree.Comments {
				text := group.Text()
				for _, link := range nameInComment.FindAllStringSubmatch(text, -1) {
					if !strings.Contains(text, "["+link[1]+"]: ") && !leadsToName(packages, importPath, strings.Split(link[1], ".")) {
						t.Errorf("%s: dead link %s", set.Position(group.Pos()), link[1])
					}
				}
			}
		}
	}
}

// goFiles returns the files of each package of the root module and of the modules durable,
// cmd/relist-sql and prometheus, without their tests.
func goFiles(t *testing.T, set *token.FileSet) map[string][]*ast.File {
	t.Helper()
	files := map[string][]*ast.File{}
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "bin", "dist", "testdata", "test"}, file):
			return filepath.SkipDir
		case filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		tree, err := parser.ParseFile(set, file, nil, parser.ParseComments)
		importPath := path.Join("github.com/relist-go/relist", filepath.ToSlash(filepath.Dir(file)))
		files[importPath] = append(files[importPath], tree)
		return err
	})
	must.OK(t, err)
	return files
}

// leadsToName reports whether a name of one to three parts is declared in the package or in one
// that it imports. What packages of other modules declare is not known, so each name of theirs is
// believed.
func leadsToName(packages map[string]*doc.Package, importPath string, parts []string) bool {
	here := packages[importPath].Parser()
	if declares(here, parts) {
		return true
	}
	imported, ok := here.LookupPackage(parts[0])
	if imported == "" { // the package's own name
		imported = importPath
	}
	p := packages[imported]
	return ok && (p == nil || declares(p.Parser(), parts[1:]))
}

// declares reports whether a package declares a name, or a method or field of it. Without a name,
// it does.
func declares(p *comment.Parser, parts []string) bool {
	switch len(parts) {
	case 0:
		return true
	case 1:
		return p.LookupSym("", parts[0])
	case 2:
		return p.LookupSym(parts[0], parts[1])
	}
	return false
}
