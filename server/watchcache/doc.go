// Package watchcache is the server's half of list and watch: the states of one resource, and the
// window of its last changes, from which an API server answers lists and watches without a read of
// its storage. It is for those who ask how a server answers, and for servers: packages relay and
// apitest use it. It is no server by itself: it has no HTTP, no storage, and no permissions.
//
// A [Cache] is filled by one source, in the order of the source's log: [Cache.Fill] with a list at
// a version, [Cache.Apply] with each change after it, [Cache.Progress] when the source says that
// nothing has changed up to a version. Behind kube-apiserver's cache the source is etcd, behind a
// relay's it is another API server.
//
// Readers ask by resourceVersion, as the API promises
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions): [Cache.List]
// and [Cache.Get] return the states at a version, and [Cache.Watch] returns a [Watcher]. A watcher
// is a position in the window, and has no queue of its own: a thousand of them cost a thousand
// positions, and an event is encoded once for all that want it in one [Form]. If a watcher selects
// one name, node or namespace, only changes there wake it. kube-apiserver copies each event into a
// channel of each watcher, and ends a watcher whose channel stays full for longer than a budget;
// here a watcher ends if the window passes it.
//
// The behaviour is that of kube-apiserver 1.36 (k8s.io/apiserver/pkg/storage/cacher). Two things
// differ. A state at an earlier version is made of the present state and the changes of the window,
// so no change keeps a copy of the tree. And a change that is out of order, which etcd never sends,
// ends the window: see [Cache.Amend].
//
// All methods may be called from any goroutine, but the calls that fill a cache must come one after
// another.
package watchcache
