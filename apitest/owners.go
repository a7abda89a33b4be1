package apitest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// Server-side apply notes in metadata.managedFields who owns which fields. The library that
// kube-apiserver uses computes that: structured-merge-diff. It needs to know which lists have
// elements with a name, which kube-apiserver takes from the type of each object. This server has no
// such types: see [mergeTypes].
//
// https://kubernetes.io/docs/reference/using-api/server-side-apply/
//
// The fields of an object are tracked from its first apply on, because that costs time for every
// write. All that it has by then belongs to one manager, as in kube-apiserver if an object has no
// managed fields.

// beforeFirstApply is the manager of these fields, by kube-apiserver's name for it.
const beforeFirstApply = "before-first-apply"

// An author is who writes, and how.
type author struct {
	manager string
	force   bool // an apply takes the fields of others
}

// authorOf returns the author of a request. As in kube-apiserver, a client that names no field
// manager has the name of its program.
func authorOf(req *http.Request, opts metav1.PatchOptions) author {
	manager := opts.FieldManager
	if manager == "" {
		manager, _, _ = strings.Cut(req.UserAgent(), "/")
	}
	return author{manager: strings.ToValidUTF8(manager, "\uFFFD"), force: opts.Force != nil && *opts.Force}
}

// owned are the owners of the fields of one object.
type owned struct {
	fields fieldpath.ManagedFields
	since  map[string]time.Time // by manager
}

// ownersIn reads metadata.managedFields. It leaves out what is no entry, because a client may have
// written it, and then whole is false.
func ownersIn(meta map[string]any) (o owned, whole bool) {
	o, whole = owned{fieldpath.ManagedFields{}, map[string]time.Time{}}, true
	entries, _ := meta["managedFields"].([]any)
	for _, e := range entries {
		var entry metav1.ManagedFieldsEntry
		text, err := appendJSON(nil, e)
		if err != nil || json.Unmarshal(text, &entry) != nil || entry.FieldsV1 == nil {
			whole = false
			continue
		}
		var set fieldpath.Set
		if set.FromJSON(entry.FieldsV1.GetRawReader()) != nil {
			whole = false
			continue
		}
		applied := entry.Operation == metav1.ManagedFieldsOperationApply
		whole = whole && entry.FieldsType == "FieldsV1" && entry.APIVersion != "" && (applied || entry.Operation == metav1.ManagedFieldsOperationUpdate)
		id := entryID(entry.Manager, entry.Operation, entry.APIVersion, entry.Subresource)
		o.fields[id] = fieldpath.NewVersionedSet(&set, fieldpath.APIVersion(entry.APIVersion), applied)
		if entry.Time != nil {
			o.since[id] = entry.Time.UTC()
		}
	}
	return o, whole
}

// disowns reports whether a write says that nobody owns anything any more: its list of managers has
// one empty entry.
//
// https://kubernetes.io/docs/reference/using-api/server-side-apply/#clearing-managedfields
func disowns(w write, meta map[string]any) bool {
	entries, _ := meta["managedFields"].([]any)
	if w.subresource != "" || len(entries) != 1 {
		return false
	}
	entry, ok := entries[0].(map[string]any)
	return ok && len(entry) == 0
}

// claim are the owners that a write begins with. others says that they are not those from before.
type claim struct {
	owned
	others bool
}

// claimed returns the owners that a write begins with. A client may write them: a program that has
// used updates becomes one that applies in this way. Owners that are left out, or cannot be read,
// and those in a write of a subresource do not count, so that no client drops them by accident.
func claimed(w write, meta, oldMeta map[string]any) claim {
	if w.subresource == "" && !sameJSON(meta["managedFields"], oldMeta["managedFields"]) {
		if wanted, whole := ownersIn(meta); whole && len(wanted.fields) > 0 {
			return claim{wanted, true}
		}
	}
	was, _ := ownersIn(oldMeta)
	return claim{was, false}
}

// entryID is the name of a manager in the library. Somebody who applies and also updates is two
// managers, and so is somebody who writes an object and its status.
func entryID(manager string, operation metav1.ManagedFieldsOperationType, apiVersion, subresource string) string {
	return string(mustJSON(metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, APIVersion: apiVersion, Subresource: subresource}))
}

func entryOf(id string) (entry metav1.ManagedFieldsEntry) {
	_ = json.Unmarshal([]byte(id), &entry) // entryID has made it
	return entry
}

// now is metadata.managedFields after a write of a manager: those who apply come first, and then
// the longest without a write that has changed what they own.
func (o owned) now(by string, changed fieldpath.ManagedFields) ([]any, error) {
	var all []metav1.ManagedFieldsEntry
	for id, set := range changed { // sorted below
		raw, err := set.Set().ToJSON()
		if err != nil {
			return nil, err
		}
		entry := entryOf(id)
		entry.FieldsType, entry.FieldsV1 = "FieldsV1", metav1.NewFieldsV1(string(raw))
		before, since := o.fields[id], o.since[id]
		if since.IsZero() || id == by && (before == nil || !before.Set().Equals(set.Set())) {
			since = time.Now().UTC().Truncate(time.Second)
		}
		entry.Time = &metav1.Time{Time: since}
		all = append(all, entry)
	}
	slices.SortFunc(all, func(a, b metav1.ManagedFieldsEntry) int {
		return cmp.Or(strings.Compare(string(a.Operation), string(b.Operation)), a.Time.Compare(b.Time.Time),
			strings.Compare(a.Manager, b.Manager), strings.Compare(a.Subresource, b.Subresource))
	})
	var entries []any
	return entries, json.Unmarshal(mustJSON(all), &entries)
}

// oneVersion says that all fields are of the one version of a type that the server has.
type oneVersion struct{}

func (oneVersion) Convert(obj *typed.TypedValue, _ fieldpath.APIVersion) (*typed.TypedValue, error) {
	return obj, nil
}

func (oneVersion) IsMissingVersionError(error) bool { return false }

var ownership = (&merge.UpdaterBuilder{Converter: oneVersion{}, ReturnInputOnNoop: true}).BuildUpdater()

// unowned are the members of metadata that no manager owns.
var unowned = slices.Concat(serverFields, []string{"resourceVersion", "selfLink", "managedFields"})

// owning returns the part of an object whose fields have owners, without numbers and lists of Go
// types that JSON does not have.
func owning(obj map[string]any) (map[string]any, error) {
	text, err := appendJSON(nil, obj)
	if err != nil {
		return nil, err
	}
	part, err := decodeObject(text)
	if err != nil {
		return nil, err
	}
	delete(part, "kind")
	delete(part, "apiVersion")
	if meta, ok := part["metadata"].(map[string]any); ok {
		maps.DeleteFunc(meta, func(k string, _ any) bool { return slices.Contains(unowned, k) })
		if len(meta) == 0 {
			delete(part, "metadata")
		}
	}
	return part, nil
}

// typedPair gives a type to two states of an object. If a list that should have names has elements
// without, its elements have no owners of their own.
func (t *table) typedPair(a, b map[string]any) (x, y *typed.TypedValue, err error) {
	names := []string{namedLists, atomicLists}
	if t.res.Custom {
		names = names[1:]
	}
	for _, name := range names {
		parseable := mergeTypes().Type(name)
		x, err = parseable.FromUnstructured(a, typed.AllowDuplicates)
		if err == nil {
			y, err = parseable.FromUnstructured(b, typed.AllowDuplicates)
		}
		if err == nil {
			return x, y, nil
		}
	}
	return nil, nil, apierrors.NewBadRequest(err.Error())
}

// applyFields returns cur with the fields of config, and without those that the author has applied
// before and does not apply now. cur is nil if there is no object. If a field belongs to somebody
// else and has another value, the error is a conflict.
func (t target) applyFields(cur, config map[string]any) (map[string]any, error) {
	version := t.table.res.apiVersion()
	live, err := owning(cur)
	if err != nil {
		return nil, err
	}
	wanted, err := owning(config)
	if err != nil {
		return nil, err
	}
	switch status, ok := wanted["status"]; {
	case t.subresource == "status" && ok:
		wanted = map[string]any{"status": status}
	case t.subresource == "status":
		wanted = map[string]any{}
	case t.table.res.Status || !t.table.res.Custom:
		delete(wanted, "status")
	}
	if t.table.rules.complete != nil {
		t.table.rules.complete(wanted)
	}
	x, y, err := t.table.typedPair(live, wanted)
	if err != nil {
		return nil, err
	}
	was, _ := ownersIn(metadataOf(cur))
	if cur != nil && len(was.fields) == 0 {
		all, err := x.ToFieldSet()
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		id := entryID(beforeFirstApply, metav1.ManagedFieldsOperationUpdate, version, "")
		was.fields[id] = fieldpath.NewVersionedSet(all, fieldpath.APIVersion(version), false)
	}
	id := entryID(t.by.manager, metav1.ManagedFieldsOperationApply, version, t.subresource)
	merged, fields, err := ownership.Apply(x, y, fieldpath.APIVersion(version), was.fields.Copy(), id, t.by.force)
	var conflicts merge.Conflicts
	switch {
	case errors.As(err, &conflicts):
		return nil, applyConflict(conflicts)
	case err != nil:
		return nil, apierrors.NewBadRequest(err.Error())
	}
	next, _ := merged.AsValue().Unstructured().(map[string]any)
	entries, err := was.now(id, fields)
	if err != nil {
		return nil, err
	}
	return dress(next, cur, config, entries), nil
}

// dress gives the merged fields the members that no manager owns, and the new owners.
func dress(merged, cur, config map[string]any, owners []any) map[string]any {
	next, meta := shallow(merged)
	next["kind"], next["apiVersion"] = config["kind"], config["apiVersion"]
	for _, from := range []map[string]any{metadataOf(cur), metadataOf(config)} {
		for _, k := range unowned {
			if v, ok := from[k]; ok {
				meta[k] = v
			}
		}
	}
	meta["managedFields"] = owners
	return next
}

// own notes that the author of a write owns what has changed between two states of an object that
// is tracked.
func (t *table) own(w write, was claim, next, old map[string]any) error {
	live, err := owning(old)
	if err != nil {
		return err
	}
	written, err := owning(next)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	x, y, err := t.typedPair(live, written)
	if err != nil {
		return err
	}
	version := t.res.apiVersion()
	id := entryID(w.by.manager, metav1.ManagedFieldsOperationUpdate, version, w.subresource)
	_, fields, err := ownership.Update(x, y, fieldpath.APIVersion(version), was.fields.Copy(), id)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if !was.others && fields.Equals(was.fields) {
		return nil
	}
	metadataOf(next)["managedFields"], err = was.now(id, fields)
	return err
}

// applyConflict is the error for an apply of fields that belong to others, in the words of
// kube-apiserver.
func applyConflict(conflicts merge.Conflicts) error {
	slices.SortStableFunc(conflicts, func(a, b merge.Conflict) int { return strings.Compare(a.Manager, b.Manager) }) // the library ranges over a map
	var causes []metav1.StatusCause
	paths := map[string][]string{}
	for _, c := range conflicts {
		who, path := printed(c.Manager), c.Path.String()
		causes = append(causes, metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Message: "conflict with " + who, Field: path})
		paths[who] = append(paths[who], path)
	}
	if len(conflicts) == 1 {
		return apierrors.NewApplyConflict(causes, fmt.Sprintf("Apply failed with 1 conflict: %s: %s", causes[0].Message, causes[0].Field))
	}
	var parts []string
	for _, who := range slices.Sorted(maps.Keys(paths)) {
		parts = append(parts, fmt.Sprintf("conflicts with %s:\n- %s", who, strings.Join(paths[who], "\n- ")))
	}
	return apierrors.NewApplyConflict(causes, fmt.Sprintf("Apply failed with %d conflicts: %s", len(conflicts), strings.Join(parts, "\n")))
}

// printed names a manager as kube-apiserver does.
func printed(id string) string {
	entry := entryOf(id)
	text := fmt.Sprintf("%q", entry.Manager)
	if entry.Subresource != "" {
		text += fmt.Sprintf(" with subresource %q", entry.Subresource)
	}
	if entry.Operation == metav1.ManagedFieldsOperationUpdate {
		text += " using " + entry.APIVersion
	}
	return text
}
