// Package decode compares what relist makes of objects with what apimachinery's own decoders and
// json/v2 make of the same bytes, in each encoding: of the 300 Pods that a kube-apiserver sent, of
// mutations of them, and of generated objects of every type of the API.
package decode
