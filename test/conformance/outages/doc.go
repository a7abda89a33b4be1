// Package outages does to a real kube-apiserver and its etcd what operators do, and
// what happens to them: a restart that forgets the past, the restoration of a backup,
// an object that a client cannot read. A reflector, its queue and a store live through
// it in this process, and must hold in the end what the server holds, by a history that
// adds up.
package outages
