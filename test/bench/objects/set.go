package objects

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Set is a number of objects of one resource, in the order of their keys.
type Set struct {
	// Resource is the last part of its path, and Kind what one is called.
	Resource, Kind string
	// Len is the number of objects.
	Len int

	templates [formats][views][shapes][]Template
}

// newSet makes the templates. The examples stand in the order of their keys. more are the
// places of each example that others do not have.
func newSet(resource, kind string, n int, examples []object, more ...[]place) (*Set, error) {
	s := &Set{Resource: resource, Kind: kind, Len: n}
	for i, full := range examples {
		var own []place
		if i < len(more) {
			own = more[i]
		}
		partial := &metav1.PartialObjectMetadata{ObjectMeta: *objectMeta(full)}
		for view, obj := range []object{Full: full, Metadata: partial} {
			meta := s.TypeMeta(View(view))
			for f := range formats {
				for shape := range shapes {
					encoded, err := encode(obj, meta, f, shape)
					if err != nil {
						return nil, fmt.Errorf("encode %s: %w", kind, err)
					}
					into := &s.templates[f][view][shape]
					*into = append(*into, newTemplate(encoded, f, own))
				}
			}
		}
	}
	return s, nil
}

// TypeMeta says what an object is, in an answer that shows this view of it.
func (s *Set) TypeMeta(v View) metav1.TypeMeta {
	if v == Metadata {
		return metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}
	}
	return metav1.TypeMeta{APIVersion: "v1", Kind: s.Kind}
}

// Template returns the one of object i. Neighbours have the same, as the replicas of a Deployment are neighbours in a list.
func (s *Set) Template(f Format, v View, shape Shape, i int) Template {
	all := s.templates[f][v][shape]
	if s.Len <= len(all) {
		return all[i]
	}
	return all[i*len(all)/s.Len]
}
