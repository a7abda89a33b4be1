package apitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (r *Resource) groupKind() schema.GroupKind {
	return schema.GroupKind{Group: r.Group, Kind: r.Kind}
}

// objectMeta reads the metadata of an object as kube-apiserver's types have it. What does not fit
// them is a bad request.
func objectMeta(res *Resource, meta map[string]any) (*metav1.ObjectMeta, error) {
	b, err := appendJSON(nil, meta)
	if err == nil {
		var m metav1.ObjectMeta
		if err = json.Unmarshal(b, &m); err == nil {
			return &m, nil
		}
	}
	return nil, apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", res.Kind, res.Version, res.Kind, err))
}

// checkNew validates the metadata of a new object by the code of kube-apiserver.
func (t *table) checkNew(meta map[string]any) error {
	m, err := objectMeta(t.res, meta)
	if err != nil {
		return err
	}
	if errs := t.validateMeta(m); len(errs) > 0 {
		return apierrors.NewInvalid(t.res.groupKind(), m.Name, errs)
	}
	return nil
}

func (t *table) validateMeta(m *metav1.ObjectMeta) field.ErrorList {
	meta := field.NewPath("metadata")
	errs := validation.ValidateObjectMeta(m, !t.res.ClusterScoped, t.rules.name, meta)
	for i, name := range m.Finalizers {
		if t.rules.qualified && !strings.Contains(name, "/") && !slices.Contains(standardFinalizers, name) {
			errs = append(errs, field.Invalid(meta.Child("finalizers").Index(i), name, "name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
	return errs
}

var standardFinalizers = []string{"kubernetes", metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents}

// checkUpdate validates the change from the metadata old to meta, in which members that the server
// sets may be absent.
func (t *table) checkUpdate(meta, old map[string]any) error {
	m, err := objectMeta(t.res, meta)
	if err != nil {
		return err
	}
	was, err := objectMeta(t.res, old)
	if err != nil {
		return err
	}
	errs := t.validateMeta(m)
	errs = append(errs, validation.ValidateObjectMetaUpdate(m, was, field.NewPath("metadata"))...)
	if was.DeletionTimestamp != nil {
		errs = append(errs, validation.ValidateNoNewFinalizers(m.Finalizers, was.Finalizers, field.NewPath("metadata", "finalizers"))...)
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(t.res.groupKind(), was.Name, errs)
	}
	return nil
}

// generation returns the generation of next, which was old.
func (t *table) generation(old, next map[string]any) (int64, bool) {
	if t.rules.counted == countsNothing {
		return 0, false
	}
	if old == nil {
		_, spec := next["spec"]
		return 1, spec || t.rules.counted == countsAll
	}
	g, ok := metadataOf(old)["generation"].(int64)
	if !ok {
		return 0, false
	}
	changed := !sameJSON(old["spec"], next["spec"])
	switch t.rules.counted {
	case countsNothing, countsSpec:
	case countsSpecAndAnnotations:
		changed = changed || !sameJSON(stringMap(metadataOf(old)["annotations"]), stringMap(metadataOf(next)["annotations"]))
	case countsAll:
		changed = !sameJSON(withoutStatus(t.res, old), withoutStatus(t.res, next))
	}
	if changed {
		g++
	}
	return g, true
}

// withoutStatus returns what a generation counts.
func withoutStatus(res *Resource, obj map[string]any) map[string]any {
	obj = maps.Clone(obj)
	for _, k := range []string{"metadata", "kind", "apiVersion"} {
		delete(obj, k)
	}
	if res.Status {
		delete(obj, "status")
	}
	return obj
}
