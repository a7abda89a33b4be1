package apitest

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// words are the constant bytes around the objects of one type, so that serving an object is a few copies.
type words struct {
	object string // opens an object on its own, and in an event: {"kind":...,"apiVersion":...,
	item   string // opens an item of a list
	list   string // opens a list, up to its metadata
}

func newWords(res *Resource) words {
	kind, version := strconv.Quote(res.Kind), strconv.Quote(res.apiVersion())
	w := words{
		object: `{"kind":` + kind + `,"apiVersion":` + version + `,`,
		item:   `{`,
		list:   `{"kind":` + strconv.Quote(res.Kind+"List") + `,"apiVersion":` + version + `,`,
	}
	if res.Custom {
		// A custom resource is a map to kube-apiserver, which sorts its keys and keeps them in lists.
		w.object = `{"apiVersion":` + version + `,"kind":` + kind + `,`
		w.item = w.object
		w.list = `{"apiVersion":` + version + `,"kind":` + strconv.Quote(res.Kind+"List") + `,`
	}
	return w
}

// A format writes the answers to one request in the representation that its Accept header chose.
// It appends to a buffer, so that what is written to the connection in one piece is decided elsewhere.
type format interface {
	contentType(watch bool) string
	// object appends one object on its own.
	object(b []byte, r *revision) []byte
	// listHead, item and listTail append a list; items carry the index that they have in this answer. All of them are
	// known beforehand, for formats that say how long the list is.
	listHead(b []byte, meta metav1.ListMeta, items []*revision) []byte
	item(b []byte, i int, r *revision) []byte
	listTail(b []byte) []byte
	// event appends one frame of a watch.
	event(b []byte, typ eventType, r *revision) []byte
	// bookmark appends a bookmark at rv; end marks the end of the initial events.
	bookmark(b []byte, rv uint64, end bool) []byte
	// status appends an ERROR event.
	status(b []byte, status *metav1.Status) []byte
}
