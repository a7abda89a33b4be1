package relay

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/watchcache"
)

// selectable are the fields of a resource that a field selector can name.
type selectable struct {
	names   []string        // of the fields, the most frequent selectors first
	absent  []string        // the value of each if an object lacks it
	members map[string]int  // the index of a field in names, by the path of its member
	parents map[string]bool // the paths of the objects that have such members
}

// selectableOf returns the fields of a resource. Of a custom type they are unknown here, so the upstream answers what names one.
func selectableOf(resource schema.GroupResource) *selectable {
	s := &selectable{
		names: []string{"metadata.name", "metadata.namespace"}, absent: []string{"", ""},
		members: map[string]int{}, parents: map[string]bool{},
	}
	for _, name := range watchcache.SelectableFields(resource) {
		path := name
		if name == "source" {
			path = "source.component" // an Event
		}
		s.members[path] = len(s.names)
		s.names, s.absent = append(s.names, name), append(s.absent, watchcache.AbsentField(name))
		for i, c := range path {
			if c == '.' {
				s.parents[path[:i]] = true
			}
		}
	}
	return s
}

// fieldValues are the fields of one object. They are no map, because a list with a field selector looks at every object.
type fieldValues struct {
	names, values []string // names is shared
}

// Has implements [fields.Fields].
func (f *fieldValues) Has(name string) bool { return slices.Contains(f.names, name) }

// Get implements [fields.Fields].
func (f *fieldValues) Get(name string) string {
	if i := slices.Index(f.names, name); i >= 0 {
		return f.values[i]
	}
	return ""
}

// of returns the fields of an object that has none but its name.
func (s *selectable) of(name, namespace string) *fieldValues {
	f := &fieldValues{s.names, slices.Clone(s.absent)}
	f.values[0], f.values[1] = name, namespace
	return f
}

// read reads the value of the member at a path, and keeps it if it is a field.
func (s *selectable) read(dec *jsontext.Decoder, path string, into *fieldValues) error {
	i, known := s.members[path]
	switch kind := dec.PeekKind(); {
	case kind == '{' && s.parents[path]:
		_, err := members(dec, func(name string) error { return s.read(dec, path+"."+name, into) })
		return err
	case known && kind != '{' && kind != '[' && kind != 'n':
		token, err := dec.ReadToken()
		if err == nil {
			into.values[i] = token.String()
		}
		return err
	}
	return dec.SkipValue()
}

// judges reports whether the relay can tell which objects a field selector selects.
func (s *selectable) judges(selector fields.Selector) bool {
	for _, req := range selector.Requirements() {
		if !slices.Contains(s.names, req.Field) {
			return false
		}
	}
	return true
}
