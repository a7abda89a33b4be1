package objects

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Set is a number of Pods, in the order of their keys.
type Set struct {
	// Len is the number of Pods.
	Len int

	templates [formats][shapes][]Template
}

// add makes the templates of a Pod, and of its places that others do not have. Pods are added in
// the order of their keys.
func (s *Set) add(pod *corev1.Pod, places []place) error {
	for f := range formats {
		for shape := range shapes {
			encoded, err := encode(pod, f, shape)
			if err != nil {
				return fmt.Errorf("encode %s: %w", pod.Name, err)
			}
			into := &s.templates[f][shape]
			*into = append(*into, newTemplate(encoded, f, places))
		}
	}
	return nil
}

// TypeMeta says what the objects are.
var TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}

// Template returns the one of object i. Neighbours have the same, as the replicas of a Deployment
// are neighbours in a list.
func (s *Set) Template(f Format, shape Shape, i int) Template {
	all := s.templates[f][shape]
	if s.Len <= len(all) {
		return all[i]
	}
	return all[i*len(all)/s.Len]
}
