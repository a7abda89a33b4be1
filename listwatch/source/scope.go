package source

import "fmt"

// ScopeOf names what a ListWatcher lists: what its method Scope says, or otherwise its method
// String, as the resource. Both results are empty if lw has neither. A listwatch.Client, and what
// embeds one, has Scope; [Funcs] has String.
func ScopeOf(lw any) (resource, namespace string) {
	switch named := lw.(type) {
	case interface {
		Scope() (resource, namespace string)
	}:
		return named.Scope()
	case fmt.Stringer:
		return named.String(), ""
	}
	return "", ""
}
