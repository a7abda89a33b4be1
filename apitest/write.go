package apitest

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// preconditions of a change; empty members ask for nothing.
type preconditions struct {
	uid             string
	resourceVersion string
}

// check compares them with the present state.
func (p preconditions) check(res *Resource, cur *revision) error {
	failed := func(what, want, have string) error {
		//nolint:staticcheck // kube-apiserver's words, its capital too
		err := fmt.Errorf("Precondition failed: %s in precondition: %s, %[1]s in object meta: %[3]s", what, want, have)
		return apierrors.NewConflict(res.GroupResource(), cur.name, err)
	}
	switch {
	case p.uid != "" && p.uid != cur.uid:
		return failed("UID", p.uid, cur.uid)
	case p.resourceVersion != "" && p.resourceVersion != formatRV(cur.rv):
		return failed("ResourceVersion", p.resourceVersion, formatRV(cur.rv))
	}
	return nil
}

// create stores a new object.
func (s *storage) create(t *table, namespace string, obj map[string]any) (*revision, error) {
	obj, meta := shallow(obj)
	name := str(meta, "name")
	if prefix := str(meta, "generateName"); name == "" && prefix != "" {
		name = prefix + randomSuffix()
		meta["name"] = name
	}
	switch {
	case name == "":
		return nil, apierrors.NewBadRequest("name or generateName is required")
	case t.res.ClusterScoped:
		delete(meta, "namespace")
		namespace = ""
	case namespace == "":
		return nil, apierrors.NewBadRequest(fmt.Sprintf("an empty namespace may not be set during creation of %s %s", t.res.ID(), name))
	case str(meta, "namespace") != "" && str(meta, "namespace") != namespace:
		return nil, namespaceMismatch()
	default:
		meta["namespace"] = namespace
	}
	if rv := str(meta, "resourceVersion"); rv != "" && rv != "0" {
		return nil, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	meta["resourceVersion"] = ""
	if str(meta, "uid") == "" {
		meta["uid"] = newUID()
	}
	if str(meta, "creationTimestamp") == "" {
		meta["creationTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	}
	delete(meta, "deletionTimestamp")
	if _, ok := obj["spec"]; ok {
		meta["generation"] = int64(1)
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if t.current(objectKey(namespace, name)) != nil {
		return nil, apierrors.NewAlreadyExists(t.res.GroupResource(), name)
	}
	return s.put(t, obj)
}

// put encodes obj as the next version and commits it. The caller holds the lock.
func (s *storage) put(t *table, obj map[string]any) (*revision, error) {
	r, err := newRevision(t.res, obj, s.rv+1)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	s.commit(t, r)
	return r, nil
}

// update replaces an object, or with a subresource only that part of it.
func (s *storage) update(t *table, namespace, name string, obj map[string]any, subresource string) (*revision, error) {
	meta := metadataOf(obj)
	if n := str(meta, "name"); n != name {
		return nil, nameMismatch(n, name)
	}
	if ns := str(meta, "namespace"); ns != "" && ns != namespace {
		return nil, namespaceMismatch()
	}
	return s.modify(t, namespace, name, subresource, func(map[string]any) (map[string]any, error) { return obj, nil })
}

// modify computes the new state of an object from its present one. change may modify and return its argument, and is
// called under the lock: it must be this package's own code. A resourceVersion or uid that it leaves in the metadata
// must be the present one. A state that is equal to the present one is not committed.
func (s *storage) modify(t *table, namespace, name, subresource string, change func(obj map[string]any) (map[string]any, error)) (*revision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cur := t.current(objectKey(namespace, name))
	if cur == nil {
		return nil, notFound(t.res, name)
	}
	old, err := cur.decode(t.res)
	if err != nil {
		return nil, err
	}
	arg, err := cur.decode(t.res)
	if err != nil {
		return nil, err
	}
	next, err := change(arg)
	if err != nil {
		return nil, err
	}
	next, meta := shallow(next)
	if rv := str(meta, "resourceVersion"); rv != "" && rv != formatRV(cur.rv) {
		return nil, apierrors.NewConflict(t.res.GroupResource(), name, fmt.Errorf(
			"the object has been modified; please apply your changes to the latest version and try again"))
	}
	if err := (preconditions{uid: str(meta, "uid")}).check(t.res, cur); err != nil {
		return nil, err
	}
	oldMeta := metadataOf(old)
	if subresource == "status" {
		status, ok := next["status"]
		next, meta = shallow(old)
		if ok {
			next["status"] = status
		}
	}
	// The server's own members of the metadata cannot be changed.
	for _, k := range []string{"name", "namespace", "uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds"} {
		if v, ok := oldMeta[k]; ok {
			meta[k] = v
		} else {
			delete(meta, k)
		}
	}
	meta["resourceVersion"] = formatRV(cur.rv)
	if g, ok := oldMeta["generation"].(int64); ok && !sameJSON(old["spec"], next["spec"]) {
		meta["generation"] = g + 1
	}
	if meta["deletionTimestamp"] != nil && !hasFinalizers(meta) {
		return s.bury(t, cur)
	}
	same, err := newRevision(t.res, next, cur.rv)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if bytes.Equal(same.body, cur.body) {
		return cur, nil
	}
	same = same.at(s.rv + 1)
	s.commit(t, same)
	return same, nil
}

// sameJSON reports whether two values are written alike. A caller's numbers may be of any type of Go.
func sameJSON(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, errX := appendJSON(nil, a)
	y, errY := appendJSON(nil, b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// remove deletes an object, or marks it for deletion while it has finalizers.
func (s *storage) remove(t *table, namespace, name string, pre preconditions) (*revision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cur := t.current(objectKey(namespace, name))
	if cur == nil {
		return nil, notFound(t.res, name)
	}
	if err := pre.check(t.res, cur); err != nil {
		return nil, err
	}
	obj, err := cur.decode(t.res)
	if err != nil {
		return nil, err
	}
	meta := metadataOf(obj)
	if !hasFinalizers(meta) {
		return s.bury(t, cur)
	}
	if meta["deletionTimestamp"] != nil {
		return cur, nil
	}
	meta["deletionTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	meta["deletionGracePeriodSeconds"] = int64(0)
	return s.put(t, obj)
}

// bury commits the deletion of cur. The caller holds the lock.
func (s *storage) bury(t *table, cur *revision) (*revision, error) {
	r := cur.at(s.rv + 1)
	r.deleted = true
	s.commit(t, r)
	return r, nil
}

func hasFinalizers(meta map[string]any) bool {
	switch f := meta["finalizers"].(type) {
	case []any:
		return len(f) > 0
	case []string:
		return len(f) > 0
	}
	return false
}

// shallow copies obj and its metadata, so that both can be changed.
func shallow(obj map[string]any) (copied, meta map[string]any) {
	copied = maps.Clone(obj)
	if copied == nil {
		copied = make(map[string]any)
	}
	meta = maps.Clone(metadataOf(obj))
	if meta == nil {
		meta = make(map[string]any)
	}
	copied["metadata"] = meta
	return copied, meta
}

// randomSuffix is what kube-apiserver appends to generateName: five characters that spell no words.
func randomSuffix() string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	b := make([]byte, 5)
	for i := range b {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(alphabet))))
		if err != nil {
			// unreachable: crypto/rand.Reader never fails; it ends the program instead.
			panic("apitest: " + err.Error())
		}
		b[i] = alphabet[n.Int64()]
	}
	return string(b)
}

// newUID returns a random (version 4) UUID.
func newUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}
