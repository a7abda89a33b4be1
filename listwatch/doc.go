// Package listwatch speaks of objects where package transport speaks of bytes:
// it lists a resource page by page and reads the events of a watch, as values
// of any Go type that a Kubernetes object can be decoded into.
//
//	pods, err := listwatch.New[*SlimPod](client, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, listwatch.Options[*SlimPod]{})
//	list, err := listwatch.All(ctx, pods, metav1.ListOptions{ResourceVersion: "0", Limit: 500})
//	watch, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion, AllowWatchBookmarks: true})
//	for {
//		event, err := watch.Next()
//		...
//	}
//
// A list is decoded object by object while its bytes arrive; the body is never
// held whole. Each object is allocated by itself, so that one which is kept
// pins no other. A transform runs before an object is kept. What repeats from one
// object to the next (names, labels, images, the bytes of managedFields, parts of objects
// that came as protobuf, and of unstructured ones) is in memory once, within a bound, unless a transform may
// write into it: objects must not be changed, as in every cache. What is not needed can
// be dropped before it is decoded ([Options]), and what the caller of a list has in the
// same version is not decoded again ([AllKnown]).
//
// An object that cannot be decoded does not end the list or the stream: it is
// an [ObjectError] with the object's key, read leniently from its metadata, and
// the others go on.
//
// Begin with [ListWatcher], which is what a reflector needs, and [Resource],
// which implements it over HTTP.
package listwatch
