package record

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/trace"
)

// reducer turns the bytes of a server into items for a trace.
type reducer struct {
	kind, apiVersion string
	full             bool     // keep every field
	encoding         encoding // of the answer
}

// eventTypes are the words of events.
var eventTypes = []string{"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"}

// list returns the item for an answer to a list request. It is a list line if it has the same encoding as all other
// answers.
func (r *reducer) list(contentType string, body []byte, same bool) said {
	text, err := r.encoding.object(body)
	if err == nil && same {
		if contentType == r.encoding.MediaType() {
			if l := r.parseList(text); l != nil {
				return l
			}
		}
	}
	w := &whole{code: http.StatusOK, contentType: contentType, body: body}
	switch r.encoding.name() {
	case Protobuf:
		w.scrubbed = append([]byte(protobufMagic), crossedOut(len(body))...)
	case CBOR:
		w.scrubbed = r.encoding.unreadable(body)
	case JSON: // the scrubber reads it
	}
	return w
}

// other returns the item for an answer that is neither a list nor a watch, such as an object, or the page of a proxy.
func (r *reducer) other(code int, contentType string, body []byte) said {
	if o, ok := r.object(body); ok && !r.full && o.extra == nil {
		body = r.encode(o)
	}
	return &whole{code: code, contentType: contentType, body: body}
}

// encode returns an object with nothing but its identity.
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

// parseList returns nil if the language of traces cannot express the list.
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

// object reduces an object to its identity. It keeps the whole of an object that Mirror cannot decode, so that the
// decoding fails in a replay, too.
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

// event returns the item for an event of a watch. Its message begins after length bytes. split says where its pieces
// ended.
func (r *reducer) event(frame []byte, length int, split []float64) said {
	message := frame[min(length, len(frame)):]
	asIs := &raw{data: bytes.Clone(frame), text: r.encoding.name() == JSON}
	if !asIs.text {
		unreadable := r.encoding.unreadable(message)
		if length > 0 {
			asIs.scrubbed = binary.BigEndian.AppendUint32(nil, uint32(len(unreadable))) // the bytes came with a length of 32 bits
		}
		asIs.scrubbed = append(asIs.scrubbed, unreadable...)
	}
	text, err := r.encoding.event(message)
	if err != nil {
		return asIs
	}
	m, ok := open(bytes.TrimSpace(text))
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
			return &event{typ: typ, object: o, split: split, text: asIs.text}
		}
	case "BOOKMARK":
		if b := r.bookmark(data, split); b != nil {
			b.text = asIs.text
			return b
		}
	case "ERROR":
		if s := r.errorEvent(data); s != nil {
			return s
		}
	}
	return asIs
}

func (r *reducer) bookmark(data jsontext.Value, split []float64) *bookmark {
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

// errorEvent returns the item for a Status in an event.
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

// status keeps the parts of a Status that a client can act on: the details, and the token with which a list
// continues.
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

// The functions below handle events and lists that were cut off. They are raw in a trace. If one ends at any byte,
// names cannot be told from the rest, so it is shortened to a place where they can.

// eventStart is the first bytes of an event from any API server.
var eventStart = regexp.MustCompile(`^\{"type":"(?:ADDED|MODIFIED|DELETED|BOOKMARK|ERROR)","object":\{`)

// begunEvent returns the beginning of an event that was cut off.
func (r *reducer) begunEvent(data []byte) said {
	if r.encoding.name() != JSON {
		begun := r.encoding.begun(data, false)
		return &raw{data: begun, scrubbed: begun}
	}
	if start := eventStart.Find(data); start != nil && !r.full {
		data = start
	}
	return &raw{data: bytes.Clone(data), text: true}
}

// begunList is a list that was cut off: its own members, and the objects that are complete.
func (r *reducer) begunList(data []byte) said {
	if r.full {
		return &raw{data: data, text: true}
	}
	dec := jsontext.NewDecoder(bytes.NewReader(data), lenient)
	if dec.PeekKind() != '{' {
		return &raw{data: data, text: true}
	}
	_, _ = dec.ReadToken()
	b := &begunList{of: r}
	for {
		name, err := dec.ReadToken()
		if err != nil || name.Kind() != '"' {
			return b
		}
		switch key := name.String(); {
		case key == "items" && dec.PeekKind() == '[':
			_, _ = dec.ReadToken()
			for {
				v, err := dec.ReadValue()
				if err != nil {
					return b
				}
				if o, ok := r.object(v); ok {
					b.objects = append(b.objects, o)
				}
			}
		case dec.SkipValue() != nil:
			return b
		}
	}
}

// lines writes the list as raw bytes.
type begunList struct {
	of      *reducer
	objects []object
}

func (b *begunList) lines() []string {
	text := []byte(`{"kind":"` + b.of.kind + `List","apiVersion":"` + b.of.apiVersion + `","metadata":{},"items":[`)
	for _, o := range b.objects {
		text = append(append(text, b.of.encode(o)...), ',')
	}
	return (&raw{data: text}).lines()
}
