// Package writes lets a writer write to a real kube-apiserver: every kind of write.
package writes
