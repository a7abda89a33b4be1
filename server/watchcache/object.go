package watchcache

import (
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/relist-go/relist/object"
)

// Object is one state of one object. It never changes.
type Object interface {
	object.Object

	// Version is the resourceVersion as a number.
	Version() uint64

	// GetLabels returns the labels, and GetFields the values of the fields that a field selector
	// can name.
	GetLabels() map[string]string
	GetFields() fields.Fields

	// At returns the same state with another resourceVersion. A DELETED event needs it: it has the
	// last state, and the version of the change that removed the object from what the watch
	// selects.
	At(version uint64) Object
}

// EventType is the type of an event, as it is written in a watch.
type EventType string

// The types of events that tell of objects.
const (
	Added    EventType = "ADDED"
	Modified EventType = "MODIFIED"
	Deleted  EventType = "DELETED"
)

// Selection is the part of a resource that a request asks for. The zero value selects everything.
type Selection struct {
	Namespace string // "" for all
	Labels    labels.Selector
	Fields    fields.Selector
	Also      func(Object) bool // a further condition; nil for none
}

// Everything reports whether the selection has no selectors: it is all objects, or all of a
// namespace.
func (s Selection) Everything() bool {
	return (s.Labels == nil || s.Labels.Empty()) && (s.Fields == nil || s.Fields.Empty())
}

// Name returns the name of the objects that are selected, if a field selector says that they have
// one.
func (s Selection) Name() (string, bool) {
	if s.Fields == nil {
		return "", false
	}
	return s.Fields.RequiresExactMatch("metadata.name")
}

// Matches reports whether an object is selected. o may be nil, which never is.
func (s Selection) Matches(o Object) bool {
	return o != nil &&
		(s.Namespace == "" || o.GetNamespace() == s.Namespace) &&
		(s.Labels == nil || s.Labels.Empty() || s.Labels.Matches(labels.Set(o.GetLabels()))) &&
		(s.Fields == nil || s.Fields.Empty() || s.Fields.Matches(o.GetFields())) &&
		(s.Also == nil || s.Also(o))
}

// Prefix is what the keys of the selected objects begin with.
func (s Selection) Prefix() string {
	if s.Namespace == "" {
		return ""
	}
	return s.Namespace + "/"
}
