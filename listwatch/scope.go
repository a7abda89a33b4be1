package listwatch

import "fmt"

// Scope names what the Resource lists, for logs and metrics: "deployments.apps", and the namespace or "" for all.
func (r *Resource[T]) Scope() (resource, namespace string) {
	return r.gvr.GroupResource().String(), r.opts.Namespace
}

// ScopeOf names what a ListWatcher lists: what its method Scope says, or otherwise its method String, as the resource.
// Both results are empty if lw has neither. A [Resource], and what embeds one, has Scope; [Funcs] has String.
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
