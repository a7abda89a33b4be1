// Package intern keeps one copy of values that repeat from one object to the next:
// label names, images, phases, whole subtrees. More than half of a Pod is the same in
// every other Pod of its Deployment.
//
// The number of values and their bytes are bounded, and values that do not repeat are
// replaced by values that do. The package does not learn when an object is gone, so it
// may hold values that no object uses, up to the bound.
//
// One goroutine at a time may use a [Table] or a [Cache]. A [Pool] hands them out to
// goroutines.
package intern
