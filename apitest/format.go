package apitest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A format encodes the answer to one request, as the Accept header asks. It appends to a buffer.
// The caller decides when to write the buffer to the connection.
type format interface {
	contentType(watch bool) string
	// object appends a single object.
	object(b []byte, r *revision) []byte
	// listHead, item and listTail append a list. i is the index of an item in this answer. listHead
	// gets all items, because some formats begin with the length of the list.
	listHead(b []byte, meta metav1.ListMeta, items []*revision) []byte
	item(b []byte, i int, r *revision) []byte
	listTail(b []byte) []byte
	// event appends one frame of a watch.
	event(b []byte, typ eventType, r *revision) []byte
	// bookmark appends a bookmark at rv. If end is true, it is the bookmark that ends the initial
	// events.
	bookmark(b []byte, rv uint64, end bool) []byte
	// status appends an ERROR event.
	status(b []byte, status *metav1.Status) []byte
}

// An accepted is one clause of an Accept header: a form that the client can read.
type accepted struct {
	media  string
	params map[string]string
	weight float64
}

// accepts returns the clauses of the Accept header. The clause that the client likes most comes
// first.
func accepts(req *http.Request) []accepted {
	var all []accepted
	for clause := range strings.SplitSeq(strings.Join(req.Header.Values("Accept"), ","), ",") {
		media, params, err := mime.ParseMediaType(clause)
		if err != nil {
			continue
		}
		a := accepted{media, params, 1}
		if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
			a.weight = q
		}
		all = append(all, a)
	}
	slices.SortStableFunc(all, func(a, b accepted) int { return cmp.Compare(b.weight, a.weight) })
	return all
}

// A form is what a client wants to have of an object.
type form int

const (
	whole form = iota
	metadataOnly
	asTable
)

// form returns what a clause asks for. If this server does not know it, known is false.
func (a accepted) form(list bool) (f form, known bool) {
	as, version := a.params["as"], a.params["v"]
	switch {
	case as == "":
		return whole, true
	case a.params["g"] != "meta.k8s.io" || version != "v1" && version != "v1beta1":
		return 0, false
	case as == "Table":
		return asTable, true
	}
	// A list is not one object, but what a watch sends is.
	return metadataOnly, as == "PartialObjectMetadata" && !list || as == "PartialObjectMetadataList" && list
}

// negotiate chooses the form in the Accept header that the client likes most and this server can
// write, as kube-apiserver does.
func (s *Server) negotiate(req *http.Request, t *table, v string) (format, error) {
	if strings.Join(req.Header.Values("Accept"), "") == "" {
		return newJSONFormat(t), nil
	}
	for _, a := range accepts(req) {
		form, known := a.form(v == "list" || v == "deletecollection")
		if !known {
			continue
		}
		switch a.media {
		case "application/json", "*/*":
			return newTextFormat(req, t, form, a.params["v"])
		case protobufMediaType:
			if f, ok := newProtobufFormat(t, form, a.params["v"]); ok {
				return f, nil
			}
		}
	}
	return nil, notAcceptable()
}

// newTextFormat returns one of the formats in JSON. version is that of meta.k8s.io.
func newTextFormat(req *http.Request, t *table, form form, version string) (format, error) {
	switch form {
	case whole:
		return newJSONFormat(t), nil
	case metadataOnly:
		return newMetadataFormat(version), nil
	case asTable:
	}
	include := req.URL.Query().Get("includeObject")
	if !slices.Contains([]string{"", "None", "Object", "Metadata"}, include) {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid includeObject value: %q", include))
	}
	return newTableFormat(t, version, include), nil
}

func notAcceptable() error {
	return statusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"only the following media types are accepted: application/json, application/json;stream=watch")
}

// jsonFrames is what all forms of JSON have in common.
type jsonFrames struct{}

func (jsonFrames) contentType(bool) string { return "application/json" }

func (jsonFrames) listTail(b []byte) []byte { return append(b, "]}\n"...) }

func (jsonFrames) status(b []byte, status *metav1.Status) []byte {
	return closeEvent(append(openEvent(b, "ERROR"), mustJSON(status)...))
}

// jsonFormat writes JSON: whole objects, or PartialObjectMetadata. It copies the bytes of an
// object, and puts constant bytes around them.
type jsonFormat struct {
	jsonFrames
	open     string // the beginning of an object, also in an event: {"kind":...,"apiVersion":...,
	openItem string // the beginning of an item of a list
	openList string // the beginning of a list, up to its metadata
	custom   bool
	metadata bool // of an object, its metadata alone
}

func newJSONFormat(t *table) jsonFormat {
	res := t.res
	kind, list := `"kind":`+strconv.Quote(res.Kind), `"kind":`+strconv.Quote(res.Kind+"List")
	version := `"apiVersion":` + strconv.Quote(res.apiVersion())
	if res.Custom {
		// kube-apiserver handles a custom resource as a map. So the keys are sorted, and items of a
		// list have kind and apiVersion.
		head := `{` + version + `,` + kind + `,`
		return jsonFormat{open: head, openItem: head, openList: `{` + version + `,` + list + `,`, custom: true}
	}
	return jsonFormat{open: `{` + kind + `,` + version + `,`, openItem: `{`, openList: `{` + list + `,` + version + `,`}
}

// newMetadataFormat is for PartialObjectMetadata. version is that of meta.k8s.io.
func newMetadataFormat(version string) jsonFormat {
	version = `","apiVersion":"meta.k8s.io/` + version + `",`
	head := `{"kind":"PartialObjectMetadata` + version
	return jsonFormat{open: head, openItem: head, openList: `{"kind":"PartialObjectMetadataList` + version, metadata: true}
}

func (f jsonFormat) object(b []byte, r *revision) []byte { return f.body(append(b, f.open...), r) }

// body appends an object after its kind and apiVersion.
func (f jsonFormat) body(b []byte, r *revision) []byte {
	if f.metadata {
		return append(append(b, r.body[:r.meta]...), '}')
	}
	return append(b, r.body...)
}

func (f jsonFormat) listHead(b []byte, meta metav1.ListMeta, _ []*revision) []byte {
	if f.metadata {
		meta.ShardInfo = nil // kube-apiserver does not copy it
	}
	b = appendListMeta(append(b, f.openList...), meta)
	if f.custom && meta.Continue == "" {
		b = append(b[:len(b)-1], `,"continue":""}`...) // a list of a custom type always has it
	}
	return append(b, `,"items":[`...)
}

func (f jsonFormat) item(b []byte, i int, r *revision) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	return f.body(append(b, f.openItem...), r)
}

func (f jsonFormat) event(b []byte, typ eventType, r *revision) []byte {
	return closeEvent(f.object(openEvent(b, typ), r))
}

func (f jsonFormat) bookmark(b []byte, rv uint64, end bool) []byte {
	return closeEvent(f.bare(openEvent(b, "BOOKMARK"), bookmarkMeta(rv, end)))
}

// bare appends an object that has metadata alone.
func (f jsonFormat) bare(b []byte, meta metav1.ObjectMeta) []byte {
	return append(append(append(append(b, f.open...), `"metadata":`...), mustJSON(meta)...), '}')
}

func openEvent(b []byte, typ eventType) []byte {
	b = append(b, `{"type":"`...)
	b = append(b, typ...)
	return append(b, `","object":`...)
}

func closeEvent(b []byte) []byte { return append(b, "}\n"...) }

// mustJSON encodes a value that this package has made.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		// unreachable: the values have only structs, slices, strings and numbers.
		panic(fmt.Sprintf("apitest: encode %T: %v", v, err))
	}
	return b
}

func appendListMeta(b []byte, meta metav1.ListMeta) []byte {
	return append(append(b, `"metadata":`...), mustJSON(meta)...)
}

// bookmarkMeta is the metadata of a bookmark.
func bookmarkMeta(rv uint64, end bool) metav1.ObjectMeta {
	meta := metav1.ObjectMeta{ResourceVersion: formatRV(rv)}
	if end {
		meta.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return meta
}
