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
	"github.com/relist-go/relist/server/watchcache"
)

// A selection is the part of a type that a request asks for.
type selection struct {
	watchcache.Selection
	shard []sharding.ShardRangeRequirement // ranges of hashes; an object is selected if its hash is in one of them; nil selects all
}

// newSelection reads the options of a request, with its selectors. If a field selector names a
// field that the type does not have, the error is the 400 of kube-apiserver.
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

// unknownField returns the text of kube-apiserver. It has one sentence for types with fields of
// their own, and another for other types.
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
		// Without own fields, a cluster-scoped type has this one, too.
		return (!res.ClusterScoped || !ownFields(res)) && watchcache.SelectsNamespace(res.GroupResource())
	}
	return slices.Contains(res.Fields, field)
}

// ownFields reports whether kube-apiserver has a list of fields for this type alone.
func ownFields(res *Resource) bool { return res.Custom || len(res.Fields) > 0 }

// selectableFields returns the values that field selectors compare. It is called once for each
// revision.
func selectableFields(res *Resource, r *revision, obj map[string]any) fields.Set {
	set := fields.Set{"metadata.name": r.name, "metadata.namespace": r.namespace}
	known := watchcache.SelectableFields(res.GroupResource())
	for _, name := range res.Fields {
		field := watchcache.Field{Name: name, Members: []string{name}} // of a custom type
		if i := slices.IndexFunc(known, func(f watchcache.Field) bool { return f.Name == name }); i >= 0 {
			field = known[i]
		}
		set[name] = field.Absent
		for _, path := range field.Members {
			if v := lookup(obj, path); v != nil && v != "" {
				set[name] = fmt.Sprint(v)
				break
			}
		}
	}
	return set
}
