package record

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/trace"
)

// reducer turns what a server sent into what a trace says of it.
type reducer struct {
	kind, apiVersion string
	full             bool // keep every field
}

// list is an answer to a request for one.
func (r *reducer) list(contentType string, body []byte) said {
	if l := r.parseList(body); l != nil && contentType == jsonMediaType {
		return l
	}
	return &whole{code: http.StatusOK, contentType: contentType, body: body}
}

// other is an answer that is neither a list nor a watch: that to a request for an
// object, or whatever a proxy has to say.
func (r *reducer) other(code int, contentType string, body []byte) said {
	if o, ok := r.object(body); ok && !r.full && o.extra == nil {
		body = r.encode(o)
	}
	return &whole{code: code, contentType: contentType, body: body}
}

// encode is an object without any more than its identity.
func (r *reducer) encode(o object) []byte {
	meta := members{}
	meta.set("name", o.name)
	meta.set("uid", o.uid)
	meta.set("resourceVersion", o.version)
	if o.namespace != "" {
		meta.set("namespace", o.namespace)
	}
	m := members{}
	m.set("kind", r.kind)
	m.set("apiVersion", r.apiVersion)
	m.set("metadata", meta)
	return m.patch()
}

// parseList returns nil if the language cannot say it.
func (r *reducer) parseList(body []byte) *list {
	m, ok := open(bytes.TrimSpace(body))
	if !ok {
		return nil
	}
	kind, kindOK := m.take("kind")
	version, versionOK := m.take("apiVersion")
	meta, metaOK := open(m["metadata"])
	if !kindOK || !versionOK || !metaOK || !strings.HasSuffix(kind, "List") {
		return nil
	}
	l := &list{}
	var rvOK, tokenOK bool
	l.version, rvOK = meta.take("resourceVersion")
	l.token, tokenOK = meta.take("continue")
	var items []jsontext.Value
	if err := json.Unmarshal(m["items"], &items, lenient); err != nil || !rvOK || !tokenOK {
		return nil
	}
	for _, item := range items {
		o, ok := r.object(item)
		if !ok {
			return nil
		}
		l.objects = append(l.objects, o)
	}
	delete(m, "items")
	delete(m, "metadata")
	if !r.full {
		m, meta = members{}, members{}
	}
	if kind != r.kind+"List" {
		m.set("kind", kind)
	}
	if version != r.apiVersion {
		m.set("apiVersion", version)
	}
	if len(meta) > 0 {
		m.set("metadata", meta)
	}
	l.extra = m.patch()
	return l
}

// object takes an object's identity out of it. What Mirror cannot decode is kept
// whole, so that a replay cannot either.
func (r *reducer) object(data jsontext.Value) (o object, ok bool) {
	m, ok := open(data)
	if !ok {
		return o, false
	}
	meta, ok := open(m["metadata"])
	if !ok {
		return o, false
	}
	var oks [6]bool
	o.namespace, oks[0] = meta.take("namespace")
	o.name, oks[1] = meta.take("name")
	o.version, oks[2] = meta.take("resourceVersion")
	o.uid, oks[3] = meta.take("uid")
	kind, hasKind := m["kind"]
	apiVersion, hasVersion := m["apiVersion"]
	_, oks[4] = m.take("kind")
	_, oks[5] = m.take("apiVersion")
	if oks != [6]bool{true, true, true, true, true, true} || o.name == "" || strings.ContainsAny(o.name+o.namespace, "/@") {
		return o, false
	}
	if !r.full && trace.Decodes(r.kind, data) == nil {
		m, meta = members{}, members{}
	}
	delete(m, "metadata")
	if o.uid == "" {
		meta.set("uid", nil)
	}
	if len(meta) > 0 {
		m.set("metadata", meta)
	}
	if hasKind && string(kind) != `"`+r.kind+`"` {
		m["kind"] = kind
	}
	if hasVersion && string(apiVersion) != `"`+r.apiVersion+`"` {
		m["apiVersion"] = apiVersion
	}
	o.extra = m.patch()
	return o, true
}

// event is one line of a watch; split says where its pieces ended.
func (r *reducer) event(line []byte, split []float64) said {
	asIs := &raw{data: bytes.Clone(line)}
	m, ok := open(bytes.TrimSpace(line))
	if !ok || len(m) != 2 {
		return asIs
	}
	typ, ok := m.take("type")
	if !ok {
		return asIs
	}
	data := m["object"]
	switch typ {
	case "ADDED", "MODIFIED", "DELETED":
		if o, ok := r.object(data); ok {
			return &event{typ: typ, object: o, split: split}
		}
	case "BOOKMARK":
		if b := r.bookmark(data, split); b != nil {
			return b
		}
	case "ERROR":
		if s := r.errorEvent(data); s != nil {
			return s
		}
	}
	return asIs
}

func (r *reducer) bookmark(data jsontext.Value, split []float64) said {
	m, ok := open(data)
	if !ok {
		return nil
	}
	meta, ok := open(m["metadata"])
	if !ok {
		return nil
	}
	b := &bookmark{split: split}
	if b.version, ok = meta.take("resourceVersion"); !ok {
		return nil
	}
	if annotations, ok := meta["annotations"]; ok && !r.full {
		meta = members{"annotations": annotations}
	} else if !r.full {
		meta = members{}
	}
	delete(m, "metadata")
	if !r.full {
		m = members{}
	}
	if len(meta) > 0 {
		m.set("metadata", meta)
	}
	b.extra = m.patch()
	return b
}

// errorEvent is a Status as an event.
func (r *reducer) errorEvent(data jsontext.Value) said {
	var s metav1.Status
	if json.Unmarshal(data, &s, lenient) != nil || s.Kind != "Status" || s.Status != metav1.StatusFailure {
		return nil
	}
	out := r.status(&s)
	if out.code < 100 || out.code > 999 {
		return nil
	}
	out.event = true
	return out
}

// status keeps what a client can act on: the details, and the token with which a
// list goes on.
func (r *reducer) status(s *metav1.Status) *status {
	out := &status{code: int(s.Code), reason: string(s.Reason), message: s.Message}
	extra := members{}
	if s.Details != nil {
		extra.set("details", s.Details)
	}
	if s.Continue != "" {
		extra.set("metadata", map[string]string{"continue": s.Continue})
	}
	out.extra = extra.patch()
	return out
}
