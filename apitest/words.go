package apitest

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// words has the constant bytes around the objects of one type. With them, the server encodes an object by copying
// bytes.
type words struct {
	object string // the beginning of an object, also in an event: {"kind":...,"apiVersion":...,
	item   string // the beginning of an item of a list
	list   string // the beginning of a list, up to its metadata
}

func newWords(res *Resource) words {
	kind, version := strconv.Quote(res.Kind), strconv.Quote(res.apiVersion())
	w := words{
		object: `{"kind":` + kind + `,"apiVersion":` + version + `,`,
		item:   `{`,
		list:   `{"kind":` + strconv.Quote(res.Kind+"List") + `,"apiVersion":` + version + `,`,
	}
	if res.Custom {
		// kube-apiserver handles a custom resource as a map. So the keys are sorted, and items of a list have kind and
		// apiVersion.
		w.object = `{"apiVersion":` + version + `,"kind":` + kind + `,`
		w.item = w.object
		w.list = `{"apiVersion":` + version + `,"kind":` + strconv.Quote(res.Kind+"List") + `,`
	}
	return w
}

// A format encodes the answer to one request, as the Accept header asks. It appends to a buffer. The caller decides
// when to write the buffer to the connection.
type format interface {
	contentType(watch bool) string
	// object appends a single object.
	object(b []byte, r *revision) []byte
	// listHead, item and listTail append a list. i is the index of an item in this answer. listHead gets all items,
	// because some formats begin with the length of the list.
	listHead(b []byte, meta metav1.ListMeta, items []*revision) []byte
	item(b []byte, i int, r *revision) []byte
	listTail(b []byte) []byte
	// event appends one frame of a watch.
	event(b []byte, typ eventType, r *revision) []byte
	// bookmark appends a bookmark at rv. If end is true, it is the bookmark that ends the initial events.
	bookmark(b []byte, rv uint64, end bool) []byte
	// status appends an ERROR event.
	status(b []byte, status *metav1.Status) []byte
}
