package listwatch

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Metadata returns the same resource with the same selectors, as metadata alone.
func (r *Resource[T]) Metadata() (*Resource[*metav1.PartialObjectMetadata], error) {
	return New(r.client, r.gvr, Options[*metav1.PartialObjectMetadata]{
		Namespace:     r.opts.Namespace,
		LabelSelector: r.opts.LabelSelector,
		FieldSelector: r.opts.FieldSelector,
		Encoding:      r.opts.Encoding,
	})
}
