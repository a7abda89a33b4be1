package apitest

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/relist-go/relist/server/watchcache"
)

// errModified is why a write at an old version is refused.
var errModified = errors.New("the object has been modified; please apply your changes to the latest version and try again")

// checkPreconditions compares what a client demands of an object before it is changed with the
// current state.
func checkPreconditions(p *metav1.Preconditions, res *Resource, cur *revision) error {
	switch {
	case p == nil:
	case p.UID != nil && string(*p.UID) != cur.uid:
		return preconditionFailed(res, cur.name, "UID", string(*p.UID), cur.uid)
	case p.ResourceVersion != nil && *p.ResourceVersion != formatRV(cur.rv):
		return preconditionFailed(res, cur.name, "ResourceVersion", *p.ResourceVersion, formatRV(cur.rv))
	}
	return nil
}

func preconditionFailed(res *Resource, name, what, want, have string) error {
	//nolint:staticcheck // kube-apiserver writes this text, with the capital letter
	err := fmt.Errorf("Precondition failed: %s in precondition: %s, %[1]s in object meta: %[3]s", what, want, have)
	return apierrors.NewConflict(res.GroupResource(), name, err)
}

// A write says how a change came to the server, and which object it is for.
type write struct {
	namespace, name string
	subresource     string
	// direct: a Go program made the change by a method of Server. It may set fields that otherwise
	// only the server, or a write of the status, may set.
	direct bool
	// patch: the change was computed from the current state.
	patch bool
	// by is who writes. If the change is a server-side apply, owners is where it puts
	// metadata.managedFields.
	by     author
	owners *[]any
}

func (s *storage) create(t *table, w write, obj map[string]any) (*revision, error) {
	obj, meta := shallow(obj)
	namespace := w.namespace
	switch {
	case t.res.ClusterScoped:
		delete(meta, "namespace")
		namespace = ""
	case namespace == "":
		return nil, apierrors.NewBadRequest(fmt.Sprintf("an empty namespace may not be set during creation of %s %s", t.res.ID(), str(meta, "name")))
	case str(meta, "namespace") != "" && str(meta, "namespace") != namespace:
		return nil, namespaceMismatch()
	default:
		meta["namespace"] = namespace
	}
	if rv := str(meta, "resourceVersion"); rv != "" && rv != "0" {
		// In kube-apiserver the storage returns this error, so the answer is 500 and not 400.
		return nil, errors.New("resourceVersion should not be set on objects to be created")
	}
	for _, k := range []string{"selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"} {
		delete(meta, k)
	}
	meta["resourceVersion"] = ""
	if !w.direct || str(meta, "uid") == "" {
		meta["uid"] = newUID()
	}
	if !w.direct || str(meta, "creationTimestamp") == "" {
		meta["creationTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name := str(meta, "name")
	if prefix := str(meta, "generateName"); name == "" && prefix != "" {
		// A name that is taken is drawn again, of 14 million. kube-apiserver tries 8 times.
		// Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#generated-values
		for name == "" || t.current(objectKey(namespace, name)) != nil {
			name = prefix + utilrand.String(5)
		}
		meta["name"] = name
	}
	if !w.direct && (t.res.Status || !t.res.Custom) {
		delete(obj, "status")
	}
	if t.rules.prepare != nil {
		t.rules.prepare(obj, meta)
	}
	if g, ok := t.generation(nil, obj); ok {
		meta["generation"] = g
	} // otherwise the server does not count generations, and the client's value stays
	if err := t.checkNew(meta); err != nil {
		return nil, err
	}
	if t.current(objectKey(namespace, name)) != nil {
		return nil, apierrors.NewAlreadyExists(t.res.GroupResource(), name)
	}
	return s.put(t, obj, w.owners != nil)
}

// put encodes obj as the next version and commits it. The caller holds the lock.
func (s *storage) put(t *table, obj map[string]any, tracked bool) (*revision, error) {
	r, err := t.encode(obj, s.rv+1)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	r.tracked = tracked
	s.commit(t, r)
	return r, nil
}

// update replaces an object. If w names a subresource, it replaces only that part. made is true if
// there was no object, and update created it.
func (s *storage) update(t *table, w write, obj map[string]any) (r *revision, made bool, err error) {
	meta := metadataOf(obj)
	if n := str(meta, "name"); n != w.name {
		if n == "" {
			return nil, false, apierrors.NewBadRequest(fmt.Sprintf("name must be provided: the object at %s has none", w.name))
		}
		return nil, false, nameMismatch(n, w.name)
	}
	if ns := str(meta, "namespace"); ns != "" && ns != w.namespace && !t.res.ClusterScoped {
		return nil, false, namespaceMismatch()
	}
	for {
		r, err = s.modify(t, w, func(map[string]any) (map[string]any, error) { return obj, nil })
		if !apierrors.IsNotFound(err) || !t.rules.createOnUpdate || w.subresource != "" {
			return r, false, err
		}
		if uid := str(meta, "uid"); uid != "" {
			return nil, false, preconditionFailed(t.res, w.name, "UID", uid, "")
		}
		obj, meta := shallow(obj)
		delete(meta, "resourceVersion")
		if r, err = s.create(t, w, obj); !apierrors.IsAlreadyExists(err) {
			return r, true, err
		} // otherwise another client was faster, and its object is updated
	}
}

// serverFields are the fields of metadata that only the server sets.
var serverFields = []string{"name", "namespace", "uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds"}

// modify computes the new state of an object from its current state, and commits it. change may
// modify its argument and return it. It is called under the lock, so it must be code of this
// package. If the result of change has a resourceVersion or a uid, it must be the current one. If
// the new state is equal to the current state, modify commits nothing.
func (s *storage) modify(t *table, w write, change func(obj map[string]any) (map[string]any, error)) (*revision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cur := t.current(objectKey(w.namespace, w.name))
	if cur == nil {
		return nil, notFound(t.res, w.name)
	}
	old, err := t.shown(cur).decode(t.res)
	if err != nil {
		return nil, err
	}
	arg, err := t.shown(cur).decode(t.res)
	if err != nil {
		return nil, err
	}
	next, err := change(arg)
	if err != nil {
		return nil, err
	}
	next, meta := shallow(next)
	oldMeta := metadataOf(old)
	if err := t.checkVersion(w, cur, meta); err != nil {
		return nil, err
	}
	if t.res.ClusterScoped {
		delete(meta, "namespace")
	}
	next, meta = t.merge(w, next, old)
	inherit(meta, oldMeta)
	meta["resourceVersion"] = formatRV(cur.rv)
	tracked := cur.tracked || w.owners != nil
	var was claim
	switch {
	case w.owners != nil:
	case disowns(w, meta):
		delete(meta, "managedFields")
		tracked = false
	case tracked:
		was = claimed(w, meta, oldMeta)
		meta["managedFields"] = oldMeta["managedFields"] // what is no list of owners does not count, and is no error
	}
	if err := t.checkUpdate(meta, oldMeta); err != nil {
		return nil, err
	}
	for _, k := range serverFields {
		if v, ok := oldMeta[k]; ok {
			meta[k] = v
		} else {
			delete(meta, k)
		}
	}
	delete(meta, "selfLink")
	if g, ok := t.generation(old, next); ok {
		meta["generation"] = g
	}
	switch {
	case w.owners != nil:
		meta["managedFields"] = *w.owners
	case tracked:
		if err := t.own(w, was, next, old); err != nil {
			return nil, err
		}
	}
	same, err := t.encode(next, cur.rv)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if meta["deletionTimestamp"] != nil && len(stringsOf(meta["finalizers"])) == 0 && !hasGrace(meta) {
		last, err := s.bury(t, cur)
		if w.direct {
			return last, err
		}
		return same, err // the writer gets what was written, and watchers get the last state before it
	}
	same.tracked = tracked
	if bytes.Equal(same.body, cur.body) {
		return cur, nil
	}
	same = same.at(s.rv + 1)
	s.commit(t, same)
	return same, nil
}

// inherit gives the metadata of a write what it may leave out, from the state before. Then what the
// write has changed can be judged.
func inherit(meta, old map[string]any) {
	for _, k := range []string{"namespace", "uid"} {
		if str(meta, k) == "" {
			meta[k] = old[k]
		}
	}
	for _, k := range []string{"creationTimestamp", "generation"} {
		meta[k] = old[k]
	}
	for _, k := range []string{"deletionTimestamp", "deletionGracePeriodSeconds"} {
		if meta[k] == nil {
			meta[k] = old[k]
		}
	}
}

// checkVersion compares the resourceVersion and the UID in a write with those of the current state.
func (t *table) checkVersion(w write, cur *revision, meta map[string]any) error {
	rv, err := watchcache.ParseVersion(str(meta, "resourceVersion"))
	uid := str(meta, "uid")
	switch {
	case err != nil && !w.direct:
		return err // in kube-apiserver the storage returns this error, so it is a 500
	case !w.patch && uid != "" && uid != cur.uid:
		return preconditionFailed(t.res, cur.name, "UID", uid, cur.uid)
	case rv == 0 && err == nil && t.rules.conditional && !w.direct:
		kind := schema.GroupKind{Group: t.res.Group, Kind: t.res.Plural} // the storage of kube-apiserver writes the plural here
		return apierrors.NewInvalid(kind, w.name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "resourceVersion"), rv, "must be specified for an update"),
		})
	case rv != 0 && rv != cur.rv, err != nil:
		return apierrors.NewConflict(t.res.GroupResource(), w.name, errModified)
	}
	return nil
}

// merge returns the new state of old after a write. A write to the subresource status changes only
// the status. Every other write changes everything but the status.
func (t *table) merge(w write, next, old map[string]any) (obj, meta map[string]any) {
	switch {
	case w.subresource == "status":
		status, ok := next["status"]
		written := metadataOf(next)
		next, meta = shallow(old)
		delete(next, "status")
		if ok {
			next["status"] = status
		}
		if t.rules.statusLabels {
			meta = written
			next["metadata"] = meta
		}
		return next, meta
	case !w.direct && (t.res.Status || !t.res.Custom):
		delete(next, "status")
		if status, ok := old["status"]; ok {
			next["status"] = status
		}
	}
	if t.rules.prepareUpdate != nil {
		t.rules.prepareUpdate(next, old)
	}
	return next, metadataOf(next)
}

// sameJSON reports whether two values are the same in JSON. The numbers of a Go program may have
// any Go type.
func sameJSON(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, errX := appendJSON(nil, a)
	y, errY := appendJSON(nil, b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// shallow returns a copy of obj with a copy of its metadata, so that the caller can change both.
// Deeper parts are not copied.
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

func newUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never returns an error
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}
