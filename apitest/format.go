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

// An accepted is one clause of an Accept header: a form that the client can read.
type accepted struct {
	media  string
	params map[string]string
	weight float64
}

// accepts returns the clauses of the Accept header. The clause that the client likes most comes first.
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

// preferred returns the media type that a client likes most, or "".
func preferred(req *http.Request) string {
	if all := accepts(req); len(all) > 0 {
		return all[0].media
	}
	return ""
}

// negotiate chooses the form in the Accept header that the client likes most and this server can write, as kube-apiserver does.
func (s *Server) negotiate(req *http.Request, t *table, v string) (format, error) {
	if strings.Join(req.Header.Values("Accept"), "") == "" {
		return jsonFormat{t: t}, nil
	}
	list := v == "list" || v == "deletecollection"
	for _, a := range accepts(req) {
		as, group, version := a.params["as"], a.params["g"], a.params["v"]
		yaml := false
		switch a.media {
		case "application/json", "*/*":
		case yamlMediaType:
			if v == "watch" {
				continue
			}
			yaml = true
		case protobufMediaType:
			if f := negotiateProtobuf(t, list, as, group, version); f != nil {
				return f, nil
			}
			continue
		case cborMediaType: // kube-apiserver does not know cborStreamMediaType in a request, although it answers with it
			if f := negotiateCBOR(t, list, as, group, version); f != nil && s.opts.CBOR {
				return f, nil
			}
			continue
		default:
			continue
		}
		if include := req.URL.Query().Get("includeObject"); as == "Table" && !slices.Contains([]string{"", "None", "Object", "Metadata"}, include) {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid includeObject value: %q", include))
		}
		if f := negotiateJSON(req, t, list, as, group, version); f != nil {
			if yaml {
				return yamlFormat{f}, nil
			}
			return f, nil
		}
	}
	return nil, notAcceptable()
}

// negotiateJSON returns nil if the server does not have the form.
func negotiateJSON(req *http.Request, t *table, list bool, as, group, version string) format {
	switch {
	case as == "":
		return jsonFormat{t: t}
	case group != "meta.k8s.io" || version != "v1" && version != "v1beta1":
		return nil
	case as == "Table":
		return newTableFormat(t, version, req.URL.Query().Get("includeObject"))
	case as == "PartialObjectMetadata" && !list, as == "PartialObjectMetadataList" && list:
		// Only a watch can ask for this form, because a list is not one object.
		return metadataFormat{version: version}
	}
	return nil
}

// negotiateProtobuf returns nil if the server does not have the form in protobuf.
func negotiateProtobuf(t *table, list bool, as, group, version string) format {
	switch {
	case as == "":
		return newProtobufFormat(t, false)
	case group != "meta.k8s.io" || version != "v1":
		return nil
	case list && as == "PartialObjectMetadataList", !list && as == "PartialObjectMetadata":
		return newProtobufFormat(t, true)
	}
	return nil
}

func notAcceptable() error {
	const message = "only the following media types are accepted: application/json, application/json;stream=watch"
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotAcceptable, Reason: metav1.StatusReasonNotAcceptable, Message: message,
	}}
}

// jsonFrames is what all forms of JSON have in common.
type jsonFrames struct{}

func (jsonFrames) contentType(bool) string { return "application/json" }

func (jsonFrames) listTail(b []byte) []byte { return append(b, "]}\n"...) }

func (jsonFrames) status(b []byte, status *metav1.Status) []byte { return appendErrorEvent(b, status) }

// jsonFormat writes whole objects in JSON.
type jsonFormat struct {
	jsonFrames
	t *table
}

func (f jsonFormat) object(b []byte, r *revision) []byte {
	return append(append(b, f.t.words.object...), r.body...)
}

func (f jsonFormat) listHead(b []byte, meta metav1.ListMeta, _ []*revision) []byte {
	b = append(b, f.t.words.list...)
	b = appendListMeta(b, meta)
	if f.t.res.Custom && meta.Continue == "" {
		b = append(b[:len(b)-1], `,"continue":""}`...) // a list of a custom type always has it
	}
	return append(b, `,"items":[`...)
}

func (f jsonFormat) item(b []byte, i int, r *revision) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	return append(append(b, f.t.words.item...), r.body...)
}

func (f jsonFormat) event(b []byte, typ eventType, r *revision) []byte {
	return closeEvent(f.object(openEvent(b, typ), r))
}

func (f jsonFormat) bookmark(b []byte, rv uint64, end bool) []byte {
	b = append(openEvent(b, "BOOKMARK"), f.t.words.object...)
	return closeEvent(append(appendBookmarkMeta(b, rv, end), '}'))
}

// metadataFormat writes PartialObjectMetadata in JSON, alone or in a list.
type metadataFormat struct {
	jsonFrames
	version string
}

func (f metadataFormat) words(suffix string) string {
	return `{"kind":"PartialObjectMetadata` + suffix + `","apiVersion":"meta.k8s.io/` + f.version + `",`
}

func (f metadataFormat) object(b []byte, r *revision) []byte {
	b = append(b, f.words("")...)
	return append(append(b, r.body[:r.meta]...), '}')
}

func (f metadataFormat) listHead(b []byte, meta metav1.ListMeta, _ []*revision) []byte {
	meta.ShardInfo = nil // kube-apiserver does not copy it
	b = append(b, f.words("List")...)
	return append(appendListMeta(b, meta), `,"items":[`...)
}

func (f metadataFormat) item(b []byte, i int, r *revision) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	return f.object(b, r)
}

func (f metadataFormat) event(b []byte, typ eventType, r *revision) []byte {
	return closeEvent(f.object(openEvent(b, typ), r))
}

func (f metadataFormat) bookmark(b []byte, rv uint64, end bool) []byte {
	b = append(openEvent(b, "BOOKMARK"), f.words("")...)
	return closeEvent(append(appendBookmarkMeta(b, rv, end), '}'))
}

func openEvent(b []byte, typ eventType) []byte {
	b = append(b, `{"type":"`...)
	b = append(b, typ...)
	return append(b, `","object":`...)
}

func closeEvent(b []byte) []byte { return append(b, "}\n"...) }

func appendErrorEvent(b []byte, status *metav1.Status) []byte {
	return closeEvent(append(openEvent(b, "ERROR"), mustJSON(status)...))
}

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
	b = append(b, `"metadata":{"resourceVersion":"`...)
	b = append(append(b, meta.ResourceVersion...), '"')
	if meta.Continue != "" {
		b = append(b, `,"continue":"`...)
		b = append(append(b, meta.Continue...), '"')
	}
	if meta.RemainingItemCount != nil {
		b = append(b, `,"remainingItemCount":`...)
		b = strconv.AppendInt(b, *meta.RemainingItemCount, 10)
	}
	if meta.ShardInfo != nil {
		b = append(append(b, `,"shardInfo":`...), mustJSON(meta.ShardInfo)...)
	}
	return append(b, '}')
}

func appendBookmarkMeta(b []byte, rv uint64, end bool) []byte {
	b = append(b, `"metadata":{"resourceVersion":"`...)
	b = append(strconv.AppendUint(b, rv, 10), '"')
	if end {
		b = append(b, `,"annotations":{"`+metav1.InitialEventsAnnotationKey+`":"true"}`...)
	}
	return append(b, '}')
}
