// Package informer keeps a live cache of a resource and calls handlers when it changes.
//
//	pods, err := listwatch.New[*Pod](client, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, listwatch.Options[*Pod]{})
//	cache := informer.New(pods, informer.Options[*Pod]{})
//	_, err = cache.AddHandler(informer.Handler[*Pod]{
//		OnAdd:    func(pod *Pod, initial bool) { ... },
//		OnUpdate: func(old, pod *Pod) { ... },
//		OnDelete: func(pod *Pod, finalStateUnknown bool) { ... },
//	})
//	err = cache.Run(ctx)
//
// It is an assembly: a [reflector.Reflector] writes to a [deltafifo.Queue]; one goroutine, the consumer, takes each entry
// out of it, brings the [store.Store] up to date and tells every handler. That goroutine alone writes to the store and
// alone feeds handlers, between two entries it lets a new handler in, and so a handler that comes late has the store as it
// is at that moment, and every change after it, and nothing twice. The reflector puts marks between the entries; when the
// consumer has passed one, its version is the store's.
//
// A handler has a goroutine of its own, and a queue that holds one pending change per object: however slow it is, it
// delays nobody, and what waits for it is bounded by the number of objects and not by the number of events.
//
// Begin with [New], [Informer.AddHandler] and [Handler]. docs/embedding.md goes through it step by step.
package informer
