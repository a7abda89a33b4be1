package record

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reducer turns the bytes of a server into items for a trace. Of an object it keeps the identity.
// Of bytes that the client cannot use it keeps only what makes them useless, so a recording never
// contains the rest of an object.
type reducer struct{ kind, apiVersion string }

// lenient holds the rules for reading a server's JSON: a name may occur twice.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// listBody is what a reducer reads of a list.
type listBody struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	Metadata   *struct {
		ResourceVersion string `json:"resourceVersion"`
		Continue        string `json:"continue"`
	} `json:"metadata"`
	Items []jsontext.Value `json:"items"`
}

// objectBody is what a reducer reads of an object.
type objectBody struct {
	Kind       *string `json:"kind"`
	APIVersion *string `json:"apiVersion"`
	Metadata   *struct {
		Namespace       string         `json:"namespace"`
		Name            string         `json:"name"`
		ResourceVersion string         `json:"resourceVersion"`
		UID             string         `json:"uid"`
		Annotations     jsontext.Value `json:"annotations"` // read of bookmarks only: they may be of the wrong type
	} `json:"metadata"`
}

// list returns the item for an answer to a list request. A list that the language of traces cannot
// express becomes a body that no client can read.
func (r *reducer) list(contentType string, body []byte) said {
	unreadable := &whole{code: http.StatusOK, contentType: contentType, size: len(body)}
	var from listBody
	if contentType != jsonMediaType || json.Unmarshal(body, &from, lenient) != nil || from.Metadata == nil ||
		from.Kind != r.kind+"List" || from.APIVersion != r.apiVersion {
		return unreadable
	}
	l := &list{version: from.Metadata.ResourceVersion, token: from.Metadata.Continue}
	for _, item := range from.Items {
		o, ok := r.object(item)
		if !ok {
			return unreadable
		}
		l.objects = append(l.objects, o)
	}
	return l
}

// object reduces an object to its identity. It returns false if the object has none.
func (r *reducer) object(data jsontext.Value) (o object, ok bool) {
	var from objectBody
	if json.Unmarshal(data, &from, lenient) != nil || from.Metadata == nil {
		return o, false
	}
	o = object{namespace: from.Metadata.Namespace, name: from.Metadata.Name, version: from.Metadata.ResourceVersion, uid: from.Metadata.UID}
	if o.name == "" || strings.ContainsAny(o.name+o.namespace, "/@") {
		return o, false
	}
	o.undecodable = !r.canBeDecoded(data)
	o.foreign = from.Kind != nil && *from.Kind != r.kind || from.APIVersion != nil && *from.APIVersion != r.apiVersion
	return o, true
}

// canBeDecoded reports whether the client can decode an object: its metadata and, if it is a
// ConfigMap, its data. See trace.Mirror.
func (r *reducer) canBeDecoded(object jsontext.Value) bool {
	var from struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Data              jsontext.Value `json:"data"`
	}
	if json.Unmarshal(object, &from, lenient) != nil {
		return false
	}
	var data map[string]string
	return r.kind != "ConfigMap" || len(from.Data) == 0 || json.Unmarshal(from.Data, &data, lenient) == nil
}

func (r *reducer) event(message []byte) said {
	var from struct {
		Type   string         `json:"type"`
		Object jsontext.Value `json:"object"`
	}
	if json.Unmarshal(message, &from, lenient) != nil {
		return unreadableEvent
	}
	switch from.Type {
	case "ADDED", "MODIFIED", "DELETED":
		if o, ok := r.object(from.Object); ok {
			return &event{typ: from.Type, object: o}
		}
	case "BOOKMARK":
		var of objectBody
		if json.Unmarshal(from.Object, &of, lenient) == nil && of.Metadata != nil {
			var annotations map[string]string
			_ = json.Unmarshal(of.Metadata.Annotations, &annotations, lenient) // if they cannot be read, they end nothing
			return &bookmark{version: of.Metadata.ResourceVersion, end: annotations[metav1.InitialEventsAnnotationKey] == "true"}
		}
	case "ERROR":
		var s metav1.Status
		if json.Unmarshal(from.Object, &s, lenient) == nil && s.Kind == "Status" && s.Status == metav1.StatusFailure &&
			s.Code >= 100 && s.Code <= 999 {
			out := r.status(&s)
			out.event = true
			return out
		}
	}
	if !slices.Contains([]string{"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"}, from.Type) {
		from.Type = "UNKNOWN"
	}
	return raw(fmt.Sprintf(`{"type":%q,"object":{}}`+"\n", from.Type))
}

// status keeps the parts of a Status that a client can act on: the seconds to wait, the reasons of
// the causes, and the token with which a list continues.
func (r *reducer) status(s *metav1.Status) *status {
	out := &status{code: int(s.Code), reason: string(s.Reason), message: s.Message, token: s.Continue}
	if s.Details != nil {
		out.retryAfter = s.Details.RetryAfterSeconds
		for _, cause := range s.Details.Causes {
			out.causes = append(out.causes, string(cause.Type))
		}
	}
	return out
}

func statusOf(body []byte) (s metav1.Status, err error) {
	if err = json.Unmarshal(body, &s, lenient); err == nil && s.Kind != "Status" {
		err = errors.New("no Status")
	}
	return s, err
}

const (
	// unreadableEvent stands for a message that is not JSON.
	unreadableEvent raw = "unreadable\n"

	// begunEvent and begunList stand for an event and a list that were cut off.
	begunEvent raw = `{"type":`
	begunList  raw = `{"kind":`
)

// object holds the parts of an object that are written to a trace.
type object struct {
	namespace, name, version, uid string

	undecodable bool // the client cannot decode it
	foreign     bool // it is of another kind than what was asked for
}

// key returns the object's key, as in stores.
func (o *object) key() string {
	if o.namespace == "" {
		return o.name
	}
	return o.namespace + "/" + o.name
}

// String returns the object as it is written on a line.
func (o *object) String() string {
	key := o.namespace + "/" + o.name
	if o.namespace == "default" {
		key = o.name
	}
	text := word(key + "@" + o.version)
	if o.uid != "" && o.uid != "uid-"+o.name {
		text += " uid=" + value(o.uid)
	}
	extra := map[string]any{}
	if o.foreign {
		extra["kind"] = "Other"
	}
	meta := map[string]any{}
	if o.undecodable {
		meta["labels"] = "unreadable"
	}
	if o.uid == "" {
		meta["uid"] = nil
	}
	if len(meta) > 0 {
		extra["metadata"] = meta
	}
	return withJSON(text, extra)
}

// nextEvent returns how many bytes of data belong to the event at its beginning, and whether the
// event is then complete.
func nextEvent(data []byte) (n int, whole bool) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, true
	}
	return len(data), false
}
