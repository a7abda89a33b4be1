package store

import (
	"k8s.io/apimachinery/pkg/labels"
)

// Select returns those objects whose labels match a selector, in their order. It looks at each
// object that it is given, so give it no more than needed:
//
//	web, err := labels.Parse("app=web,tier!=db")
//	pods := store.Select(s.In("shop"), web)
//
// labels.SelectorFromSet makes a selector of a map. If all that a program needs is one selector,
// let the server apply it: listwatch.Options.LabelSelector.
func Select[T interface{ GetLabels() map[string]string }](objects []T, selector labels.Selector) []T {
	var selected []T
	for _, obj := range objects {
		if selector.Matches(labels.Set(obj.GetLabels())) {
			selected = append(selected, obj)
		}
	}
	return selected
}
