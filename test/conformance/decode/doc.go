// Package decode compares what relist makes of objects with what apimachinery and
// json/v2 make of the same bytes: the 300 Pods that a kube-apiserver sent, and
// mutations of them.
package decode
