package apitest

import (
	"fmt"
	"maps"
	"net/http"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// patch applies a patch of any kind that kube-apiserver knows. It returns the status code of the
// answer.
func (s *storage) patch(t target, body []byte, media string) (*revision, int, error) {
	var steps jsonpatch.Patch
	var merged map[string]any
	var err error
	kind := types.PatchType(media)
	switch kind {
	case types.JSONPatchType:
		steps, err = jsonpatch.DecodePatch(body)
	case types.MergePatchType:
		merged, err = decodeObject(body)
	case types.StrategicMergePatchType:
		if t.table.res.Custom {
			return nil, 0, unsupportedMediaType(media, "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml")
		}
		if string(body) != "null" {
			merged, err = decodeObject(body)
		}
		if !isPlain(merged) {
			return nil, 0, unsupportedMediaType(media, "application/merge-patch+json, application/json-patch+json or application/apply-patch+yaml, because "+
				"this server does not know how a strategic merge patch merges lists")
		}
		// The path decides the type, and the patch cannot change it.
		delete(merged, "kind")
		delete(merged, "apiVersion")
	case types.ApplyYAMLPatchType:
		return s.apply(t, body)
	default:
		return nil, 0, unsupportedMediaType(media, "application/json-patch+json, application/merge-patch+json, "+
			"application/strategic-merge-patch+json, application/apply-patch+yaml")
	}
	if err != nil {
		return nil, 0, badPatch(err)
	}
	r, err := s.modify(t.table, t.write(true), func(obj map[string]any) (map[string]any, error) {
		if kind == types.JSONPatchType {
			patched, err := applyJSONPatch(obj, steps)
			if err != nil {
				return nil, err
			}
			return patched, t.checkPatched(patched)
		}
		obj = mergePatch(obj, merged)
		return obj, t.checkPatched(obj)
	})
	return r, http.StatusOK, err
}

// isPlain reports whether a strategic merge patch has neither lists nor directives, and so is a
// merge patch. How lists are merged depends on the Go type of an object, and this server has no
// such types.
func isPlain(v any) bool {
	switch v := v.(type) {
	case []any:
		return false
	case map[string]any:
		for k, member := range v { // the order does not matter: all have to be plain
			if strings.HasPrefix(k, "$") || !isPlain(member) {
				return false
			}
		}
	}
	return true
}

func (s *storage) apply(t target, body []byte) (*revision, int, error) {
	data, err := yaml.YAMLToJSON(body)
	if err != nil {
		return nil, 0, badPatch(err)
	}
	obj, err := readObject(t.table.res, data, "application/json")
	if err != nil {
		return nil, 0, err
	}
	if n := str(metadataOf(obj), "name"); n != "" && n != t.name {
		return nil, 0, nameMismatch(n, t.name)
	}
	if str(obj, "kind") == "" || str(obj, "apiVersion") == "" {
		return nil, 0, apierrors.NewBadRequest("Object 'Kind' is missing")
	}
	if metadataOf(obj)["managedFields"] != nil {
		return nil, 0, apierrors.NewBadRequest("metadata.managedFields must be nil")
	}
	for {
		var owners []any
		w := t.write(true)
		w.owners = &owners
		r, err := s.modify(t.table, w, func(cur map[string]any) (map[string]any, error) {
			next, err := t.applyFields(cur, obj)
			if err == nil {
				owners, _ = metadataOf(next)["managedFields"].([]any)
			}
			return next, err
		})
		if !apierrors.IsNotFound(err) || t.subresource != "" {
			return r, http.StatusOK, err
		}
		made, err := t.applyFields(nil, obj)
		if err != nil {
			return nil, 0, err
		}
		made, meta := shallow(made)
		if uid := str(meta, "uid"); uid != "" {
			return nil, 0, apierrors.NewConflict(t.table.res.GroupResource(), t.name, fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", uid))
		}
		meta["name"] = t.name
		w = t.write(false)
		w.owners = &owners
		if r, err = s.create(t.table, w, made); !apierrors.IsAlreadyExists(err) {
			return r, http.StatusCreated, err
		} // otherwise another client was faster, and the fields are applied to its object
	}
}

// applyJSONPatch applies a JSON patch, RFC 6902, as kube-apiserver does.
func applyJSONPatch(obj map[string]any, patch jsonpatch.Patch) (map[string]any, error) {
	text, err := apply(patch, mustJSON(obj))
	if err == nil {
		obj, err = decodeObject(text)
	}
	if err != nil {
		// Like kube-apiserver, this names neither the object nor the cause, so the text of err is
		// not in the answer.
		return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", metaGroupResource, "", err.Error(), 0, false)
	}
	return obj, nil
}

// apply does the same as Patch.Apply, but returns an error if that panics. json-patch v4.13.0
// panics on a test of the whole object without a value.
func apply(patch jsonpatch.Patch, doc []byte) (text []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("apply the patch: %v", v)
		}
	}()
	return patch.Apply(doc)
}

// mergePatch applies a JSON merge patch, RFC 7386: null deletes a member, an object is merged, and
// any other value replaces the member. It does not use json-patch, because that package merges
// texts, and here the object and the patch are maps. It may change obj, but not the patch.
func mergePatch(obj, patch map[string]any) map[string]any {
	if obj == nil {
		obj = make(map[string]any, len(patch))
	}
	for k, v := range patch { // each key is changed by itself: the order does not matter
		switch v := v.(type) {
		case nil:
			delete(obj, k)
		case map[string]any:
			old, _ := obj[k].(map[string]any)
			obj[k] = mergePatch(maps.Clone(old), v)
		default:
			obj[k] = v
		}
	}
	return obj
}

// checkPatched returns an error if a patch has changed the kind, the apiVersion, the name or the
// namespace of the object.
func (t target) checkPatched(obj map[string]any) error {
	meta := metadataOf(obj)
	if kind, version := str(obj, "kind"), str(obj, "apiVersion"); kind != t.table.res.Kind || version != t.table.res.apiVersion() {
		if t.table.res.Custom {
			gvk := schema.FromAPIVersionAndKind(version, kind)
			var errs field.ErrorList
			if kind != t.table.res.Kind {
				errs = append(errs, field.Invalid(field.NewPath("kind"), kind, "must be "+t.table.res.Kind))
			}
			if version != t.table.res.apiVersion() {
				errs = append(errs, field.Invalid(field.NewPath("apiVersion"), version, "must be "+t.table.res.apiVersion()))
			}
			return apierrors.NewInvalid(gvk.GroupKind(), t.name, errs)
		}
		return unfitPatch(fmt.Sprintf("%s in version %q cannot be handled as a %s", kind, version, t.table.res.Kind))
	}
	if _, err := objectMeta(t.table.res, meta); err != nil {
		return unfitPatch(err.Error())
	}
	if n := str(meta, "name"); n != t.name {
		return nameMismatch(n, t.name)
	}
	if ns := str(meta, "namespace"); ns != t.namespace {
		return namespaceMismatch()
	}
	return nil
}

// unfitPatch returns the error for a patch whose result is not an object of the type.
func unfitPatch(why string) error {
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), why, "the patched object cannot be decoded")})
}

func badPatch(err error) error {
	return apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
}
