package store

import "github.com/relist-go/relist/object"

// later returns next if it may follow current, or else current. A version that says "any" replaces nothing. One that is not
// a number, as some servers send that only look like Kubernetes, replaces nothing but another of its kind.
func later(current, next string) string {
	switch {
	case object.Any(next), object.Older(next, current):
		return current
	case object.Ordered(next), !object.Ordered(current):
		return next
	}
	return current
}
