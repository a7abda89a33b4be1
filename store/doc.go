// Package store is a keyed, indexed cache of Kubernetes objects that many goroutines may read while
// others write. An informer has one: a program needs its own if it fills a cache by itself. A store
// sends no requests, and copies no objects: they are shared, so a reader must not change them.
//
// The objects, and every index, are B+ trees ordered by key. So List, Keys, All and ByIndex need no
// sorting, and a list from the API server, which is in key order, is built into a tree in one pass.
// Trees can be shared: a [Snapshot] takes their roots, and a later write copies the few nodes that
// it changes, once for each snapshot. A hash table beside the tree of objects answers Get without a
// lock. An update changes one word, unless a snapshot has the object, or an index has to move it.
//
//	s := store.New(store.Options[*corev1.Pod]{Indexers: store.Indexers[*corev1.Pod]{"node": byNode}})
//	err := s.Replace(pods, "1000") // from a list
//	err = s.Update(pod)            // from a watch
//	pods, err := s.ByIndex("node", "worker-1")
//
// Index functions are code of the program. They run before anything is written, while no lock is
// held.
//
// Begin with [Store] and [object.Object].
package store
