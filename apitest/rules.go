package apitest

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
)

// rules describe what kube-apiserver does for one type differently than for others.
type rules struct {
	name validation.ValidateNameFunc

	// counted has metadata.generation: 1 at first, and one more for each change of what counts.
	counted counting
	// conditional refuses an update that does not say which version it replaces.
	conditional bool
	// createOnUpdate makes what a PUT names if there is none.
	createOnUpdate bool
	// returnsDeleted answers a deletion with the object.
	returnsDeleted bool
	// qualified refuses finalizers without a domain.
	qualified bool
	// graceful leaves an object that is being deleted for its period of grace.
	graceful bool
	// statusLabels lets a write of the status change labels and annotations too.
	statusLabels bool
	// prepare fills what kube-apiserver always has in a new object.
	prepare func(obj, meta map[string]any)
	// prepareUpdate does so for an object that is written again.
	prepareUpdate func(obj, old map[string]any)
}

// counting says what a generation counts.
type counting int

const (
	countsNothing counting = iota
	countsSpec
	countsSpecAndAnnotations
	countsAll // but metadata and status
)

// Types, by Resource.ID, that share a rule. The lists are of those that DefaultResources has.
var (
	withoutGeneration = []string{"namespaces", "nodes", "persistentvolumeclaims", "persistentvolumes", "services", "leases.coordination.k8s.io"}
	madeByUpdate      = []string{"endpoints", "events", "services", "leases.coordination.k8s.io", "clusterroles.rbac.authorization.k8s.io", "roles.rbac.authorization.k8s.io"}
	returnedDeleted   = []string{"namespaces", "persistentvolumeclaims", "persistentvolumes", "pods", "serviceaccounts", "services"}
	keepStatusLabels  = []string{"daemonsets.apps", "deployments.apps", "replicasets.apps", "statefulsets.apps", "replicationcontrollers", "cronjobs.batch", "jobs.batch"}
)

func newRules(res *Resource) rules {
	id := res.ID()
	r := rules{
		name:           validation.NameIsDNSSubdomain,
		counted:        countsSpec,
		conditional:    res.Custom || id == "leases.coordination.k8s.io",
		createOnUpdate: slices.Contains(madeByUpdate, id),
		returnsDeleted: slices.Contains(returnedDeleted, id),
		qualified:      !res.Custom && res.Group != "coordination.k8s.io" && res.Group != "rbac.authorization.k8s.io",
		graceful:       id == "pods",
		statusLabels:   !res.Custom && !slices.Contains(keepStatusLabels, id),
	}
	switch {
	case res.Custom, id == "endpointslices.discovery.k8s.io":
		r.counted = countsAll
	case slices.Contains(withoutGeneration, id):
		r.counted = countsNothing
	case id == "deployments.apps":
		r.counted = countsSpecAndAnnotations
	}
	switch id {
	case "namespaces":
		r.name = validation.NameIsDNSLabel
		r.prepare = prepareNamespace
		r.prepareUpdate = func(obj, _ map[string]any) { labelNamespace(metadataOf(obj)) }
	case "services":
		r.name = validation.NameIsDNS1035Label
	case "clusterroles.rbac.authorization.k8s.io", "roles.rbac.authorization.k8s.io":
		r.name = nameInPath
	case "secrets":
		r.prepare = func(obj, _ map[string]any) { prepareSecret(obj) }
		r.prepareUpdate = func(obj, _ map[string]any) { prepareSecret(obj) }
	case "pods":
		r.prepare = func(obj, _ map[string]any) {
			if obj["status"] == nil {
				obj["status"] = map[string]any{"phase": "Pending"}
			}
		}
	}
	return r
}

// nameInPath allows whatever can be a part of a path, which the names of roles are.
func nameInPath(name string, _ bool) []string {
	if name == "." || name == ".." || strings.ContainsAny(name, "/%") {
		return []string{"must be a part of a path, and not . or .."}
	}
	return nil
}

// labelNamespace adds the label by which selectors find a namespace.
func labelNamespace(meta map[string]any) {
	labels := make(map[string]any)
	for k, v := range stringMap(meta["labels"]) { // into a map: the order does not matter
		labels[k] = v
	}
	labels["kubernetes.io/metadata.name"] = str(meta, "name")
	meta["labels"] = labels
}

// prepareNamespace says that a namespace is there.
func prepareNamespace(obj, meta map[string]any) {
	labelNamespace(meta)
	if obj["spec"] == nil {
		obj["spec"] = map[string]any{"finalizers": []any{"kubernetes"}}
	}
	if obj["status"] == nil {
		obj["status"] = map[string]any{"phase": "Active"}
	}
}

// prepareSecret turns the text that a Secret was given into its data, in base64, and fills its type.
func prepareSecret(obj map[string]any) {
	if str(obj, "type") == "" {
		obj["type"] = "Opaque"
	}
	text, ok := obj["stringData"].(map[string]any)
	if !ok {
		return
	}
	data := make(map[string]any)
	if old, ok := obj["data"].(map[string]any); ok {
		maps.Copy(data, old)
	}
	for k, v := range text { // into a map: the order does not matter
		if s, ok := v.(string); ok {
			data[k] = base64.StdEncoding.EncodeToString([]byte(s))
		}
	}
	obj["data"] = data
	delete(obj, "stringData")
}
