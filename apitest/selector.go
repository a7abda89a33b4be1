package apitest

import (
	"fmt"
	"net/url"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/sharding"

	"github.com/relist-go/relist/internal/listoptions"
	"github.com/relist-go/relist/watchcache"
)

// A selection is the part of a type that a request asks for.
type selection struct {
	watchcache.Selection
	shard []sharding.ShardRangeRequirement // ranges of hashes; an object is selected if its hash is in one of them; nil selects all
}

// newSelection reads the options of a request, with its selectors. If a field selector names a field that the type does not have, the error
// is the 400 of kube-apiserver.
func newSelection(t target, query url.Values) (sel selection, opts *internalversion.ListOptions, err error) {
	if opts, err = listoptions.Parse(query); err != nil {
		return sel, nil, err
	}
	sel = selection{Selection: watchcache.Selection{Namespace: t.namespace, Labels: opts.LabelSelector, Fields: t.table.storedFields(opts.FieldSelector)}}
	if opts.FieldSelector != nil {
		for _, req := range opts.FieldSelector.Requirements() {
			if res := t.table.res; !offersField(res, req.Field) {
				return sel, nil, apierrors.NewBadRequest(unknownField(res, req.Field))
			}
		}
	}
	return sel, opts, nil
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
		default:
			set[path] = watchcache.AbsentField(path)
		}
	}
	return set
}
