package apitest

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/server/watchcache"
)

// table finds a type by its ID.
func (s *Server) table(resource string) (*table, error) {
	if t := s.storage.tables[resource]; t != nil {
		return t, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "resources"}, resource)
}

// programmer is the author of what a Go program writes by the methods of Server.
var programmer = author{manager: "apitest"}

// Create stores a new object as a POST would, and returns the version of the commit. Unlike a POST,
// it also stores the status, so that a test can make a running Pod in one step; Update and Patch do
// so, too. Create keeps a UID and a creationTimestamp that obj has, so that a test knows them. It
// neither changes nor keeps obj. obj may be the Object of an unstructured.Unstructured. It returns
// the errors that a client would get: apierrors.IsAlreadyExists and similar functions work on them.
func (s *Server) Create(resource string, obj map[string]any) (resourceVersion string, err error) {
	t, err := s.table(resource)
	if err != nil {
		return "", err
	}
	r, err := s.storage.create(t, write{namespace: str(metadataOf(obj), "namespace"), direct: true, by: programmer}, obj)
	return versionOf(r, err)
}

// Update replaces an object as a PUT would. If obj has a metadata.resourceVersion that is not
// current, Update returns a conflict.
func (s *Server) Update(resource string, obj map[string]any) (resourceVersion string, err error) {
	t, err := s.table(resource)
	if err != nil {
		return "", err
	}
	meta := metadataOf(obj)
	r, _, err := s.storage.update(t, write{namespace: str(meta, "namespace"), name: str(meta, "name"), direct: true, by: programmer}, obj)
	return versionOf(r, err)
}

// Patch applies a JSON merge patch (RFC 7386).
func (s *Server) Patch(resource, namespace, name string, patch map[string]any) (resourceVersion string, err error) {
	t, err := s.table(resource)
	if err != nil {
		return "", err
	}
	r, err := s.storage.modify(t, write{namespace: namespace, name: name, direct: true, by: programmer, patch: true}, func(obj map[string]any) (map[string]any, error) {
		return mergePatch(obj, patch), nil
	})
	return versionOf(r, err)
}

// Delete removes an object at once, without a period of grace. If the object has finalizers, it
// only gets a deletionTimestamp, as from kube-apiserver.
func (s *Server) Delete(resource, namespace, name string) (resourceVersion string, err error) {
	t, err := s.table(resource)
	if err != nil {
		return "", err
	}
	r, err := s.storage.remove(t, write{namespace: namespace, name: name, direct: true, by: programmer}, metav1.DeleteOptions{})
	return versionOf(r, err)
}

// Get returns a copy of an object, with kind and apiVersion.
func (s *Server) Get(resource, namespace, name string) (map[string]any, error) {
	t, err := s.table(resource)
	if err != nil {
		return nil, err
	}
	s.storage.mu.RLock()
	r := t.current(objectKey(namespace, name))
	s.storage.mu.RUnlock()
	if r == nil {
		return nil, notFound(t.res, name)
	}
	return t.shown(r).decode(t.res)
}

// List returns copies of all objects of a namespace in key order, and the version of that state. If
// namespace is "", it returns the objects of all namespaces.
func (s *Server) List(resource, namespace string) (items []map[string]any, resourceVersion string, err error) {
	t, err := s.table(resource)
	if err != nil {
		return nil, "", err
	}
	s.storage.mu.RLock()
	p := s.storage.present(t, watchcache.Selection{Namespace: namespace}, 0)
	s.storage.mu.RUnlock()
	for _, o := range p.Objects {
		obj, err := t.shown(o.(*revision)).decode(t.res)
		if err != nil {
			return nil, "", err
		}
		items = append(items, obj)
	}
	return items, formatRV(p.Version), nil
}

// ResourceVersion returns the version of the last commit.
func (s *Server) ResourceVersion() string {
	s.storage.mu.RLock()
	defer s.storage.mu.RUnlock()
	return formatRV(s.storage.rv)
}

func versionOf(r *revision, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return formatRV(r.rv), nil
}

func metadataOf(obj map[string]any) map[string]any {
	m, ok := obj["metadata"].(map[string]any)
	if !ok {
		return nil
	}
	return m
}

// namespaceMismatch is the error for an object that is sent to another namespace than the one it
// names.
func namespaceMismatch() error {
	return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
}

func nameMismatch(inBody, inPath string) error {
	return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", inBody, inPath))
}
