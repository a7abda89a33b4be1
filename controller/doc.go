// Package controller runs a function for the key of every object that has changed, and again if it
// fails. It is for programs that make something agree with objects, in the cluster or outside. It
// is no framework: the program makes its informers, and writes with package writer below this one.
// If several replicas run, package lease below this one lets one of them work.
//
//	shops := informer.New(...)      // what people write
//	configMaps := informer.New(...) // what the controller makes of it
//	err := controller.Run(ctx, func(ctx context.Context, key string) (time.Duration, error) {
//		shop, exists := shops.Store().Get(key)
//		...
//		return 0, write(ctx, shop)
//	}, controller.Options{Workers: 4},
//		controller.For(shops),
//		controller.Owns(configMaps, object.Type{Group: "example.com", Version: "v1", Resource: "shops", Kind: "Shop"}),
//	)
//
// Each [Source] is an informer and a rule that makes keys of a change. The keys go into a [Queue].
// The workers take them from there; only one worker at a time has a key. The function that they
// call, [Reconcile], looks at the whole state of the key and makes the world agree with it. It is
// not told what has changed, because several changes of a key are one.
//
//	informer   a change of the store
//	Source     the keys that it concerns
//	Queue      each key once; keys of the watch before keys of the first list; failed keys after a delay
//	Reconcile  reads the stores, and writes
//
// Begin with [Run] and [Reconcile]. [Queue] can be used alone.
package controller
