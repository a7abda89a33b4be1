package connect

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"sigs.k8s.io/yaml"

	"github.com/relist-go/relist/internal/files"
)

// Contexts returns the names of the contexts of the kubeconfig that the flags choose, sorted. A
// file that cannot be read has none, and a name with a space or a control character is left out:
// the names are for the completion of a shell.
func (f *Flags) Contexts() []string {
	var names []string
	for _, path := range f.kubeconfigs() {
		text, err := files.Read(path)
		if err != nil {
			continue
		}
		var file struct {
			Contexts []struct {
				Name string `json:"name"`
			} `json:"contexts"`
		}
		if yaml.Unmarshal(text, &file) != nil {
			continue
		}
		for _, c := range file.Contexts {
			strange := func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) }
			if c.Name != "" && !strings.ContainsFunc(c.Name, strange) {
				names = append(names, c.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// kubeconfigs returns the files that a kubeconfig consists of.
func (f *Flags) kubeconfigs() []string {
	if f.Kubeconfig != "" {
		return []string{f.Kubeconfig}
	}
	if list := os.Getenv("KUBECONFIG"); list != "" {
		return filepath.SplitList(list)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	return []string{filepath.Join(home, ".kube", "config")}
}
