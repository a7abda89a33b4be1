package apitest

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

const yamlMediaType = "application/yaml" // of the body of a request; answers do not come as YAML

// maxBody is kube-apiserver's limit for the body of a request.
const maxBody = 3 << 20

func (s *Server) serveWrite(w http.ResponseWriter, req *http.Request, t target, v string, f format) error {
	if !t.takes(v) {
		if t.table.res.Custom && t.subresource == "" && t.namespace == "" {
			s.missing(w, req)
			return nil
		}
		return methodNotAllowed(t.table.res)
	}
	body, media, err := readBody(w, req)
	if err != nil {
		return err
	}
	var del metav1.DeleteOptions
	var opts metav1.PatchOptions
	if v == "delete" || v == "deletecollection" {
		del, err = readDeletion(req, body, media)
	} else {
		opts, err = writeOptions(v, req.URL.Query(), media)
	}
	if err != nil {
		return err
	}
	if v == "deletecollection" {
		return s.serveDeleteCollection(w, req, t, f, del)
	}
	t.by = authorOf(req, opts)
	st := s.storage
	var before uint64 // of the copy, which only this request has
	var cur *revision
	dryRun := len(del.DryRun)+len(opts.DryRun) > 0
	if dryRun {
		// A dry run changes a copy of the storage that has only this one object.
		key := dryRunKey(t, body, media)
		st = s.storage.fork(t.table, key)
		t.table = st.tables[t.table.res.ID()]
		before, cur = st.rv, t.table.current(key)
	}
	r, code, err := st.write(t, v, del, body, media)
	if err != nil {
		return err
	}
	if v == "delete" && !t.table.rules.returnsDeleted && r.deleted {
		writeJSON(w, http.StatusOK, deletedStatus(t.table.res, r))
		return nil
	}
	if dryRun && r.rv > before {
		r = r.undated(cur)
	}
	s.writeObject(w, f, code, t.table.shown(r))
	return nil
}

// write makes the change that a request asks for, and returns the status code of the answer.
func (s *storage) write(t target, v string, del metav1.DeleteOptions, body []byte, media string) (r *revision, code int, err error) {
	switch v {
	case "create":
		obj, err := readObject(t.table.res, body, media)
		if err != nil {
			return nil, 0, err
		}
		r, err := s.create(t.table, t.write(false), obj)
		return r, http.StatusCreated, err
	case "update":
		obj, err := readObject(t.table.res, body, media)
		if err != nil {
			return nil, 0, err
		}
		r, made, err := s.update(t.table, t.write(false), obj)
		if made {
			return r, http.StatusCreated, err
		}
		return r, http.StatusOK, err
	case "patch":
		return s.patch(t, body, media)
	}
	r, err = s.remove(t.table, t.write(false), del)
	return r, http.StatusOK, err
}

// takes reports whether the server has the verb v for the target. For example, a namespaced object
// can be created only with a namespace in the path.
func (t target) takes(v string) bool {
	within := t.table.res.ClusterScoped || t.namespace != ""
	switch v {
	case "create":
		return t.name == "" && within
	case "deletecollection":
		return within && t.table.res.ID() != "namespaces"
	case "delete":
		return t.subresource == ""
	}
	return t.name != ""
}

func deletedStatus(res *Resource, r *revision) *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusSuccess,
		Details:  &metav1.StatusDetails{Name: r.name, Group: res.Group, Kind: res.Plural, UID: types.UID(r.uid)},
	}
}

// undated returns the result of a dry run as kube-apiserver shows it. A new object has no
// resourceVersion. A changed object keeps that of cur.
func (r *revision) undated(cur *revision) *revision {
	if cur != nil {
		return r.at(cur.rv)
	}
	n := *r
	begin, end := n.version-len(`,"resourceVersion":"`), n.version+decimalLen(n.rv)+len(`"`)
	n.body = slices.Concat(n.body[:begin], n.body[end:])
	n.meta -= end - begin
	n.messages = new(protobufMessages)
	return &n
}

// serveDeleteCollection deletes the objects that the selectors select, and answers with a list of
// them.
func (s *Server) serveDeleteCollection(w http.ResponseWriter, req *http.Request, t target, f format, del metav1.DeleteOptions) error {
	sel, opts, err := newSelection(t, req.URL.Query())
	if err != nil {
		return err
	}
	st := s.storage
	st.mu.RLock()
	p := t.table.page(sel, st.present(t.table, sel.Selection, opts.Limit))
	st.mu.RUnlock()
	for i, r := range p.items {
		if len(del.DryRun) > 0 {
			continue
		}
		gone, err := st.remove(t.table, write{namespace: r.namespace, name: r.name}, del)
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		if err == nil && !gone.deleted {
			p.items[i] = t.table.shown(gone)
		}
	}
	writeList(w, req, f, p)
	return nil
}

func readBody(w http.ResponseWriter, req *http.Request) (body []byte, media string, err error) {
	body, err = io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	if err != nil {
		return nil, "", apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
	}
	media = "application/json"
	if ct := req.Header.Get("Content-Type"); ct != "" {
		if media, _, err = mime.ParseMediaType(ct); err != nil {
			return nil, "", unsupportedMediaType(ct, "application/json, application/yaml")
		}
	}
	return body, media, nil
}

// asJSON returns the body of a request in JSON. It may be protobuf or YAML.
func asJSON(body []byte, media string) ([]byte, error) {
	switch media {
	case protobufMediaType:
		obj, err := decodeEnvelope(body)
		return mustJSON(obj), err
	case yamlMediaType:
		return yaml.YAMLToJSON(body)
	}
	return body, nil
}

// readObject decodes an object of the type that the path names.
func readObject(res *Resource, body []byte, media string) (obj map[string]any, err error) {
	known := []string{"application/json", yamlMediaType}
	if !res.Custom {
		known = append(known, protobufMediaType)
	}
	if !slices.Contains(known, media) {
		return nil, unsupportedMediaType(media, strings.Join(known, ", "))
	}
	body, err = asJSON(body, media)
	switch {
	case err == nil && string(body) == "null" && !res.Custom:
		return map[string]any{}, nil // an object without any field
	case err == nil:
		obj, err = decodeObject(body)
	}
	kind, version := str(obj, "kind"), str(obj, "apiVersion")
	switch {
	case err == nil && res.Custom && (kind == "" || version == ""):
		err = errors.New("Object 'Kind' is missing") //nolint:staticcheck // kube-apiserver's words
	case err == nil && (kind != "" && kind != res.Kind || version != "" && version != res.apiVersion()):
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s", kind, version, res.Kind))
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v", res.Kind, err))
	}
	return obj, nil
}

func unsupportedMediaType(media, want string) error {
	return statusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
		fmt.Sprintf("the body of the request was in an unknown format - accepted media types include: %s (it was %s)", want, media))
}

// dryRunKey returns the key of the object that a dry run changes. If the request creates an object,
// its name is in the body.
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
