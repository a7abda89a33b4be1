// Package store is a keyed, indexed cache of Kubernetes objects that many goroutines may read while others write.
//
// Objects, and every index, are kept in B+ trees ordered by key. That choice decides the rest: List, Keys, All and
// ByIndex come in key order without sorting, a list from the API server (which is in key order too) is built into a tree
// in one pass, and a tree can be shared: a [Snapshot] takes the roots and nothing else, and a later write copies the few
// nodes on the way to the place it changes, once for each snapshot. A hash table beside the tree of objects answers Get,
// without a lock; an update of an object that is in no snapshot, and in the same indexes as before, changes one word.
//
//	s := store.New(store.Options[*corev1.Pod]{Indexers: store.Indexers[*corev1.Pod]{"node": byNode}})
//	err := s.Replace(pods, "1000") // what a list gave
//	err = s.Update(pod)            // what a watch said
//	pods, err := s.ByIndex("node", "worker-1")
//
// Index functions belong to the user. They run before anything is written and while no lock is held; when one panics the
// call returns an [IndexError] and the store is as it was.
//
// Objects are shared, not copied: whoever reads one must not change it.
//
// Begin with [Store] and [Object].
package store
