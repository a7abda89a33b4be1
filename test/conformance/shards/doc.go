// Package shards splits one resource of a real kube-apiserver between several informers, with the
// feature gate ShardedListAndWatch and without it.
package shards
