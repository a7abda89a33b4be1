// Package tree decodes the JSON of one object after the other, and remembers what
// repeats from one to the next.
//
// A [Decoder] makes maps, slices and plain values, which is what unstructured.Unstructured
// holds: what apimachinery's own decoder makes of the same bytes
// (k8s.io/apimachinery/pkg/util/json). Whole numbers that fit are int64, all others
// float64; null is nil; of names that stand twice the last counts; bytes that are no
// UTF-8 are replaced. What is no JSON is an error.
//
// A [Structs] makes structs: what json/v2 makes of the same bytes.
//
// Both go over the bytes twice. The first time they note where each object and array
// ends and how many members it has, at more than 1 GB/s. With that, maps and slices are
// made in their final size, and a subtree that was met before is found by its bytes,
// without parsing it: nine in ten of those of a Pod are the same in another.
package tree
