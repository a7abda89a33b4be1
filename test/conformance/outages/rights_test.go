package outages

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const rbac = "rbac.authorization.k8s.io"

// rolesOf is the resource of ClusterRoles, Roles, or the bindings of either.
func rolesOf(kind string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: rbac, Version: "v1", Resource: strings.ToLower(kind) + "s"}
}

// createRole makes a role, of the name of its user, that may list and watch all types: everywhere,
// or in the namespace default.
func (w *world) createRole(kind, user string) {
	w.t.Helper()
	w.create(rolesOf(kind), map[string]any{
		"apiVersion": rbac + "/v1", "kind": kind, "metadata": map[string]any{"name": user},
		"rules": []any{map[string]any{"apiGroups": []any{"*"}, "resources": []any{"*"}, "verbs": []any{"list", "watch"}}},
	})
}

// bind lets a user do what the role may.
func (w *world) bind(kind, user string) {
	w.t.Helper()
	w.create(rolesOf(kind+"Binding"), map[string]any{
		"apiVersion": rbac + "/v1", "kind": kind + "Binding", "metadata": map[string]any{"name": user},
		"roleRef":  map[string]any{"apiGroup": rbac, "kind": kind, "name": user},
		"subjects": []any{map[string]any{"apiGroup": rbac, "kind": "User", "name": user}},
	})
}
