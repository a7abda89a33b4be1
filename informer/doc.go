// Package informer keeps a live cache of a resource and calls handlers when it changes. It is where
// most programs begin; many need only this and a listwatch.Client. It is no log of events, because
// a handler gets the latest state of an object, and it retries no work: package controller does.
//
//	pods, err := listwatch.New[*Pod](client, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, listwatch.Options[*Pod]{})
//	cache := informer.New(pods, informer.Options[*Pod]{})
//	_, err = cache.AddHandler(informer.Handler[*Pod]{
//		OnAdd:    func(pod *Pod, initial bool) { ... },
//		OnUpdate: func(old, pod *Pod) { ... },
//		OnDelete: func(pod *Pod, inferred bool) { ... },
//	})
//	err = cache.Run(ctx)
//
// An informer has three parts. A [reflector.Reflector] writes to a [deltafifo.Queue]. One
// goroutine, the consumer, takes each entry from the queue, brings the [store.Store] up to date,
// and tells every handler. Only the consumer writes to the store and adds handlers, and it adds a
// handler between two entries. So a late handler gets every object that the store has at that
// moment, and every change after it, and nothing twice. The reflector puts marks between the
// entries. When the consumer passes a mark, the store gets the mark's version.
//
// Each handler has a goroutine of its own, and a queue with one pending change per object. A slow
// handler delays nobody, and its queue is bounded by the number of objects, not by the number of
// events. An observer ([Informer.Observe]) is told of every change of the store instead, by the
// consumer itself.
//
// A [MultiNamespace] is an informer for several namespaces, which come and go: it has several
// reflectors and queues, and one consumer.
//
// Begin with [New], [Informer.AddHandler] and [Handler]. docs/getting-started.md shows step by step
// how to use them.
package informer
