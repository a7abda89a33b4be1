package apitest

import (
	"fmt"
	"io"
	"mime"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

// maxBody is kube-apiserver's limit for the body of a request.
const maxBody = 3 << 20

// serveWrite answers a request that changes something.
func (s *Server) serveWrite(w http.ResponseWriter, req *http.Request, t target, v string, f format) error {
	body, media, err := readBody(w, req)
	if err != nil {
		return err
	}
	dryRun := req.URL.Query().Get("dryRun") == metav1.DryRunAll
	st := s.storage
	if dryRun && v != "deletecollection" {
		// A dry run happens to a copy that holds nothing but the object in question.
		st = s.storage.fork(t.table, dryRunKey(t, body, media))
		t.table = st.tables[t.table.res.ID()]
	}
	switch v {
	case "create":
		if t.name != "" {
			return apierrors.NewMethodNotSupported(t.table.res.GroupResource(), "create")
		}
		obj, err := readObject(t.table.res, body, media)
		if err != nil {
			return err
		}
		if err := validName(t.table.res, obj); err != nil {
			return err
		}
		r, err := st.create(t.table, t.namespace, obj)
		if err != nil {
			return err
		}
		s.writeObject(w, f, http.StatusCreated, r)
		return nil
	case "update":
		obj, err := readObject(t.table.res, body, media)
		if err != nil {
			return err
		}
		r, err := st.update(t.table, t.namespace, t.name, obj, t.subresource)
		if err != nil {
			return err
		}
		s.writeObject(w, f, http.StatusOK, r)
		return nil
	case "patch":
		r, code, err := st.patch(t, body, media)
		if err != nil {
			return err
		}
		s.writeObject(w, f, code, r)
		return nil
	case "delete":
		if t.subresource != "" {
			return apierrors.NewMethodNotSupported(t.table.res.GroupResource(), "delete")
		}
		return s.serveDelete(w, st, t, f, body)
	}
	return s.serveDeleteCollection(w, req, t, f, dryRun)
}

func (s *Server) serveDelete(w http.ResponseWriter, st *storage, t target, f format, body []byte) error {
	pre, err := readPreconditions(body)
	if err != nil {
		return err
	}
	r, err := st.remove(t.table, t.namespace, t.name, pre)
	if err != nil {
		return err
	}
	if !r.deleted {
		s.writeObject(w, f, http.StatusOK, r)
		return nil
	}
	writeJSON(w, http.StatusOK, &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusSuccess,
		Details: &metav1.StatusDetails{
			Name: r.name, Group: t.table.res.Group, Kind: t.table.res.Plural, UID: types.UID(r.uid),
		},
	})
	return nil
}

// serveDeleteCollection deletes what the selectors name, and answers with the list of it.
func (s *Server) serveDeleteCollection(w http.ResponseWriter, req *http.Request, t target, f format, dryRun bool) error {
	opts, err := listOptions(req)
	if err != nil {
		return err
	}
	sel, err := newSelection(t.table.res, t.namespace, opts)
	if err != nil {
		return err
	}
	st := s.storage
	st.mu.RLock()
	p := t.table.page(sel, sel.prefix(), st.rv, 0)
	st.mu.RUnlock()
	if dryRun {
		writeList(w, req, f, p)
		return nil
	}
	for _, r := range p.items {
		if _, err := st.remove(t.table, r.namespace, r.name, preconditions{uid: r.uid}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	writeList(w, req, f, p)
	return nil
}

// readBody reads the body and its media type.
func readBody(w http.ResponseWriter, req *http.Request) (body []byte, media string, err error) {
	body, err = io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	if err != nil {
		return nil, "", apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
	}
	media = "application/json"
	if ct := req.Header.Get("Content-Type"); ct != "" {
		if media, _, err = mime.ParseMediaType(ct); err != nil {
			return nil, "", apierrors.NewBadRequest(fmt.Sprintf("Content-Type %q: %v", ct, err))
		}
	}
	return body, media, nil
}

// readObject decodes an object of the type that the path names.
func readObject(res *Resource, body []byte, media string) (map[string]any, error) {
	switch media {
	case "application/json":
	case "application/yaml":
		var err error
		if body, err = yaml.YAMLToJSON(body); err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("the object provided is no YAML: %v", err))
		}
	default:
		return nil, unsupportedMediaType(media, "application/json, application/yaml")
	}
	obj, err := decodeObject(body)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v", res.Kind, err))
	}
	kind, version := str(obj, "kind"), str(obj, "apiVersion")
	if kind != "" && kind != res.Kind || version != "" && version != res.apiVersion() {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s", kind, version, res.Kind))
	}
	return obj, nil
}

// validName refuses a name that could not be part of a path.
func validName(res *Resource, obj map[string]any) error {
	name := str(metadataOf(obj), "name")
	if name == "" {
		return nil
	}
	if msgs := validation.IsDNS1123Subdomain(name); len(msgs) > 0 && res.Group != "rbac.authorization.k8s.io" {
		return apierrors.NewBadRequest(fmt.Sprintf("%s %q is invalid: metadata.name: Invalid value: %q: %s", res.Kind, name, name, msgs[0]))
	}
	return nil
}

func unsupportedMediaType(media, want string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusUnsupportedMediaType,
		Reason:  metav1.StatusReasonUnsupportedMediaType,
		Message: fmt.Sprintf("the body of the request was in an unknown format - accepted media types include: %s (it was %s)", want, media),
	}}
}

// readPreconditions reads a DeleteOptions body. An empty body asks for nothing.
func readPreconditions(body []byte) (preconditions, error) {
	if len(body) == 0 {
		return preconditions{}, nil
	}
	obj, err := decodeObject(body)
	if err != nil {
		return preconditions{}, apierrors.NewBadRequest(fmt.Sprintf("read DeleteOptions: %v", err))
	}
	pre, _ := obj["preconditions"].(map[string]any)
	return preconditions{uid: str(pre, "uid"), resourceVersion: str(pre, "resourceVersion")}, nil
}

// dryRunKey is the object that a dry run is about; a creation names it in its body.
func dryRunKey(t target, body []byte, media string) string {
	if t.name != "" {
		return objectKey(t.namespace, t.name)
	}
	obj, err := readObject(t.table.res, body, media)
	if err != nil {
		return "" // the creation will say what is wrong
	}
	return objectKey(t.namespace, str(metadataOf(obj), "name"))
}
