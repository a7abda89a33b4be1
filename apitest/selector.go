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
	single    bool   // it names one object; kube-apiserver then looks up the key, and sends no pages
	labels    labels.Selector
	fields    fields.Selector
	shard     []sharding.ShardRangeRequirement // ranges of hashes; an object is selected if its hash is in one of them; nil selects all
}

// newSelection reads the selectors of a request. If a field selector names a field that the type does not have, the error
// is the 400 of kube-apiserver.
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
	sel.single = sel.named() && (res.ClusterScoped || namespace != "")
	return sel, nil
}

// unknownField returns the text of kube-apiserver. It has one sentence for types with fields of their own, and another
// for other types.
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
		return !res.ClusterScoped || !ownFields(res) // without own fields, a cluster-scoped type has this one, too
	}
	return slices.Contains(res.Fields, field)
}

// ownFields reports whether kube-apiserver has a list of fields for this type alone.
func ownFields(res *Resource) bool { return res.Custom || len(res.Fields) > 0 }

// everything reports whether there are no selectors. Only then a list has the number of remaining items. A shard is no
// selector here, as in kube-apiserver.
func (s selection) everything() bool {
	return s.labels.Empty() && s.fields.Empty()
}

// named reports whether the selection names its objects.
func (s selection) named() bool {
	_, named := s.fields.RequiresExactMatch("metadata.name")
	return named
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

// selectableFields returns the values that field selectors compare. It is called once for each revision.
func selectableFields(res *Resource, r *revision, obj map[string]any) fields.Set {
	set := fields.Set{"metadata.name": r.name, "metadata.namespace": r.namespace}
	for _, path := range res.Fields {
		v := lookup(obj, path)
		if m, ok := v.(map[string]any); ok && path == "source" {
			v = m["component"] // an Event: the selector for source compares source.component
		}
		switch {
		case path == "status.podIPs":
			set[path] = "" // kube-apiserver compares with the empty string
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

// everything returns the selection of all objects in a namespace. If namespace is empty, it is all objects.
func everything(namespace string) selection {
	return selection{namespace: namespace, labels: labels.Everything(), fields: fields.Everything()}
}
