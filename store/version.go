package store

import "k8s.io/apimachinery/pkg/util/resourceversion"

// later returns next if it may follow current, or else current.
//
// Resource versions are decimal numbers of any length, compared as such
// (https://kep.k8s.io/5504). Empty and "0" say nothing, and never replace anything. One that is not such a number, as
// some servers that only look like Kubernetes send, replaces nothing but another of its kind.
func later(current, next string) string {
	if next == "" || next == "0" {
		return current
	}
	if current == "" {
		return next
	}
	order, err := resourceversion.CompareResourceVersion(next, current)
	if err != nil {
		if _, err := resourceversion.CompareResourceVersion(current, current); err == nil {
			return current
		}
		return next
	}
	if order < 0 {
		return current
	}
	return next
}
