package relay

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/relist-go/relist/server/watchcache"
	"github.com/relist-go/relist/transport/discovery"
)

// selectable are the fields of a resource that a field selector can name.
type selectable struct {
	fields  []field         // the most frequent selectors first
	members map[string]int  // the index in fieldValues.values, by the path of a member
	parents map[string]bool // the paths of the objects that have such members
}

// A field has the first of some values that is not empty.
type field struct {
	name   string
	from   []int // indices in fieldValues.values
	absent string
}

// selectableOf returns the fields of a resource. Of a custom type they are unknown here, so the
// upstream answers what names one. It also answers what names the namespace of a type without
// namespaces, or of one of those for which that is an error.
func selectableOf(resource discovery.Resource) *selectable {
	s := &selectable{members: map[string]int{"metadata.name": 0, "metadata.namespace": 1}, parents: map[string]bool{}}
	s.fields = append(s.fields, field{name: "metadata.name", from: []int{0}})
	if resource.Namespaced && watchcache.SelectsNamespace(resource.GroupResource()) {
		s.fields = append(s.fields, field{name: "metadata.namespace", from: []int{1}})
	}
	for _, f := range watchcache.SelectableFields(resource.GroupResource()) {
		own := field{name: f.Name, absent: f.Absent}
		for _, path := range f.Members {
			if _, known := s.members[path]; !known {
				s.members[path] = len(s.members)
			}
			own.from = append(own.from, s.members[path])
			for i, c := range path {
				if c == '.' {
					s.parents[path[:i]] = true
				}
			}
		}
		s.fields = append(s.fields, own)
	}
	return s
}

// fieldValues are the fields of one object. They are no map, because a list with a field selector
// looks at every object.
type fieldValues struct {
	of     *selectable
	values []string
}

func (s *selectable) find(name string) int {
	return slices.IndexFunc(s.fields, func(f field) bool { return f.name == name })
}

// Has implements [fields.Fields].
func (v *fieldValues) Has(name string) bool { return v.of.find(name) >= 0 }

// Get implements [fields.Fields].
func (v *fieldValues) Get(name string) string {
	i := v.of.find(name)
	if i < 0 {
		return ""
	}
	for _, from := range v.of.fields[i].from {
		if v.values[from] != "" {
			return v.values[from]
		}
	}
	return v.of.fields[i].absent
}

// of returns the fields of an object that has none but its name.
func (s *selectable) of(name, namespace string) *fieldValues {
	v := &fieldValues{s, make([]string, len(s.members))}
	v.values[0], v.values[1] = name, namespace
	return v
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
	return !slices.ContainsFunc(selector.Requirements(), func(req fields.Requirement) bool { return s.find(req.Field) < 0 })
}
