// Package intern keeps one copy of what repeats from one object to the next: label
// names, images, phases, whole subtrees. Of a Pod, more than half is the same in
// every other Pod of its Deployment.
//
// What is kept is bounded in number and in bytes, and what is not met again makes room
// for what is. Nothing here knows when an object has gone: at most the bound is held
// for nothing.
//
// A [Table] and a [Cache] belong to one goroutine at a time. [Pool] hands them around.
package intern
