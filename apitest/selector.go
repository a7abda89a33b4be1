package apitest

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/sharding"
)

// A selection is the part of a type that a request asks for.
type selection struct {
	namespace string // "" for all
	single    bool   // one object, by its name in the namespace: kube-apiserver looks up its key, and does not page
	labels    labels.Selector
	fields    fields.Selector
	shard     []sharding.ShardRangeRequirement // ranges of hashes, of which one is enough; nil for all
}

// newSelection reads the selectors of a request. Labels were parsed with the options; a field that the type does not
// offer is a 400 in kube-apiserver's words: kubectl itself adds what it was looking for.
func newSelection(res *Resource, namespace string, opts *internalversion.ListOptions) (selection, error) {
	sel := selection{namespace: namespace, labels: opts.LabelSelector, fields: opts.FieldSelector}
	if sel.labels == nil {
		sel.labels = labels.Everything()
	}
	if sel.fields == nil {
		sel.fields = fields.Everything()
	}
	for _, req := range sel.fields.Requirements() {
		if !offersField(res, req.Field) {
			return sel, apierrors.NewBadRequest(unknownField(res, req.Field))
		}
	}
	_, named := sel.fields.RequiresExactMatch("metadata.name")
	sel.single = named && (res.ClusterScoped || namespace != "")
	return sel, nil
}

// unknownField is what kube-apiserver says: types with fields of their own have another sentence than the rest.
func unknownField(res *Resource, field string) string {
	switch {
	case res.ID() == "jobs.batch":
		return fmt.Sprintf("field label %q not supported for Job", field)
	case ownFields(res):
		return "field label not supported: " + field
	}
	return fmt.Sprintf("%q is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", field)
}

func offersField(res *Resource, field string) bool {
	switch field {
	case "metadata.name":
		return true
	case "metadata.namespace":
		return !res.ClusterScoped || !ownFields(res) // the rest may ask for the namespace that they have not
	}
	return slices.Contains(res.Fields, field)
}

// ownFields is true for the types that list their fields one by one.
func ownFields(res *Resource) bool { return res.Custom || len(res.Fields) > 0 }

// everything is true when no selector narrows the type or the namespace.
// A list says how many items remain only then. A shard does not count, as in kube-apiserver.
func (s selection) everything() bool {
	return s.labels.Empty() && s.fields.Empty()
}

func (s selection) prefix() string {
	if s.namespace == "" {
		return ""
	}
	return s.namespace + "/"
}

func (s selection) matches(r *revision) bool {
	return r != nil && !r.deleted &&
		(s.namespace == "" || r.namespace == s.namespace) &&
		(s.labels.Empty() || s.labels.Matches(r.labels)) &&
		(s.fields.Empty() || s.fields.Matches(r.fields)) && s.inShard(r)
}

// selectableFields computes the values that field selectors compare, once for each revision.
func selectableFields(res *Resource, r *revision, obj map[string]any) fields.Set {
	set := fields.Set{"metadata.name": r.name, "metadata.namespace": r.namespace}
	for _, path := range res.Fields {
		v := lookup(obj, path)
		if m, ok := v.(map[string]any); ok && path == "source" {
			v = m["component"] // events: source is selected by its component
		}
		switch {
		case path == "status.podIPs":
			set[path] = "" // kube-apiserver knows the name, and compares with nothing
		case v != nil:
			set[path] = fmt.Sprint(v)
		case strings.HasSuffix(path, "eplicas"), path == "status.successful":
			set[path] = "0"
		case path == "spec.unschedulable", path == "spec.hostNetwork":
			set[path] = "false"
		default:
			set[path] = ""
		}
	}
	return set
}

// everything is the selection of all objects in a namespace, or of all there are.
func everything(namespace string) selection {
	return selection{namespace: namespace, labels: labels.Everything(), fields: fields.Everything()}
}
