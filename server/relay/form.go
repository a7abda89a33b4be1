package relay

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/munnerz/goautoneg"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/server/watchcache"
)

// builtInGroups are the groups with a dot that kube-apiserver 1.37 serves from Go types. Other
// groups that end in .k8s.io, such as gateway.networking.k8s.io, are of custom types.
// https://kubernetes.io/docs/reference/kubernetes-api/
var builtInGroups = map[string]bool{
	"admissionregistration.k8s.io": true, "apiextensions.k8s.io": true, "apiregistration.k8s.io": true, "authentication.k8s.io": true,
	"authorization.k8s.io": true, "certificates.k8s.io": true, "coordination.k8s.io": true, "discovery.k8s.io": true, "events.k8s.io": true,
	"flowcontrol.apiserver.k8s.io": true, "internal.apiserver.k8s.io": true, "networking.k8s.io": true, "node.k8s.io": true,
	"rbac.authorization.k8s.io": true, "resource.k8s.io": true, "scheduling.k8s.io": true, "storage.k8s.io": true, "storagemigration.k8s.io": true,
}

// A form is how objects are written: whole, or their metadata alone. Both are JSON, because a relay
// keeps the bytes that the upstream sent, and asks for JSON.
type form struct {
	id       string
	start    string // of an object: {"kind":...,"apiVersion":...,
	list     string // of a list, up to its metadata
	metadata bool
	custom   bool // the items of a list have their kind
}

func wholeForm(u *upstream) *form {
	version := strconv.Quote(u.GroupVersion().String())
	return &form{
		id:     "object",
		start:  `{"kind":` + strconv.Quote(u.Kind) + `,"apiVersion":` + version + `,`,
		list:   `{"kind":` + strconv.Quote(u.Kind+"List") + `,"apiVersion":` + version + `,`,
		custom: strings.Contains(u.Group, ".") && !builtInGroups[u.Group],
	}
}

func metadataForm(version string) *form {
	return &form{
		id:       "metadata " + version,
		start:    `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/` + version + `",`,
		list:     `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/` + version + `",`,
		metadata: true,
	}
}

// negotiate returns the form that the API server would choose, or nil if only the upstream can
// write that, or has to refuse the request. A client that likes protobuf or CBOR more than JSON
// gets JSON.
func negotiate(req *http.Request, u *upstream, verb string) *form {
	accept := req.Header.Get("Accept")
	if accept == "" {
		return wholeForm(u)
	}
	for _, clause := range goautoneg.ParseAccept(accept) {
		as, converts := conversion(clause.Params)
		stream := clause.Params["stream"]
		switch media := clause.Type + "/" + clause.SubType; {
		case media == "application/yaml", media == "application/*":
			return nil
		case media != "application/json" && media != "*/*", stream != "" && stream != "watch":
			continue
		case !converts:
			return wholeForm(u)
		case as.Group != metav1.GroupName || as.Version != "v1" && as.Version != "v1beta1":
			continue
		case as.Kind == "PartialObjectMetadataList" && verb == "list", as.Kind == "PartialObjectMetadata" && verb != "list":
			return metadataForm(as.Version)
		}
		return nil
	}
	return nil
}

// conversion returns the type that the parameters of a media type ask for, if they ask for one.
func conversion(params map[string]string) (as schema.GroupVersionKind, converts bool) {
	for name, into := range map[string]*string{"as": &as.Kind, "g": &as.Group, "v": &as.Version} { // each by itself
		value, given := params[name]
		*into, converts = value, converts || given
	}
	return as, converts
}

// ID implements [watchcache.Form].
func (f *form) ID() string { return f.id }

func (f *form) appendObject(b []byte, o *state) []byte {
	if f.metadata {
		b = append(append(b, f.start...), `"metadata":`...)
		return append(append(b, o.body[o.metadata.from:o.metadata.to]...), '}')
	}
	return append(b, o.body...)
}

func (f *form) appendItem(b []byte, o *state) []byte {
	if f.metadata || f.custom {
		return f.appendObject(b, o)
	}
	return append(append(b, '{'), o.body[o.lead:]...)
}

// AppendEvent implements [watchcache.Form].
func (f *form) AppendEvent(b []byte, typ watchcache.EventType, o watchcache.Object) []byte {
	b = append(append(append(b, `{"type":"`...), typ...), `","object":`...)
	return append(f.appendObject(b, o.(*state)), "}\n"...)
}

// bookmark returns a bookmark; end says that it ends the initial events.
func (f *form) bookmark(version uint64, end bool) []byte {
	b := append([]byte(`{"type":"BOOKMARK","object":`), f.start...)
	b = append(strconv.AppendUint(append(b, `"metadata":{"resourceVersion":"`...), version, 10), '"')
	if end {
		b = append(b, `,"annotations":{"`+metav1.InitialEventsAnnotationKey+`":"true"}`...)
	}
	return append(b, "}}}\n"...)
}

func errorEvent(err error) []byte {
	b := append([]byte(`{"type":"ERROR","object":`), encode(statusOf(err))...)
	return append(b, "}\n"...)
}

func (f *form) listHead(p *watchcache.Page) []byte {
	b := append([]byte(f.list), `"metadata":`...)
	b = append(b, encode(metav1.ListMeta{
		ResourceVersion: strconv.FormatUint(p.Version, 10), Continue: p.Continue, RemainingItemCount: p.Remaining,
	})...)
	if f.custom && p.Continue == "" {
		b = append(b[:len(b)-1], `,"continue":""}`...) // a list of a custom type always has it
	}
	return append(b, `,"items":[`...)
}

func statusOf(err error) *metav1.Status {
	known, ok := err.(apierrors.APIStatus)
	if !ok {
		known = apierrors.NewInternalError(err)
	}
	status := known.Status()
	status.Kind, status.APIVersion = "Status", "v1"
	return &status
}

func writeError(w http.ResponseWriter, err error) {
	status := statusOf(err)
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(status.Code))
	_, _ = w.Write(append(encode(status), '\n')) // an error is a client that hung up
}

// encode encodes a struct of apimachinery.
func encode(v any) []byte {
	b, _ := json.Marshal(v) // it has only texts, numbers and structs
	return b
}
