// Package listwatch lists a resource page by page and reads the events of a watch.
// Package transport delivers bytes; this package decodes them into values of any Go type
// that can hold a Kubernetes object. A program needs it to say what a cache is of: the
// resource, the type, selectors and the encoding. It keeps nothing, and does not decide
// which request follows.
//
//	pods, err := listwatch.New[*SlimPod](client, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, listwatch.Options[*SlimPod]{})
//	list, err := source.All(ctx, pods, metav1.ListOptions{ResourceVersion: "0", Limit: 500})
//	watch, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion, AllowWatchBookmarks: true})
//	for {
//		event, err := watch.Next()
//		...
//	}
//
// A list is decoded object by object while its bytes arrive; the whole body is never in memory.
// source.EachKnown hands the objects over in parts, so that all objects need not be in memory
// either. Each object is allocated by itself, so a kept object keeps no other object alive. A
// transform runs before an object is kept. Strings that many objects contain (names, labels,
// images) are in memory once, within a bound, and so are the values under managedFields.
// [Options.ShareParts] extends this to other parts of objects. The program must not change objects,
// as with every cache. [Options] can drop members before they are decoded. source.EachKnown takes
// an object from its caller, and does not decode it, if the caller has it in the same version.
//
// An object that cannot be decoded does not end the list or the stream. The list or the
// event then contains a [source.ObjectError] with the object's key, if the key can be read from
// the metadata, and the other objects follow as usual.
//
// Begin with [source.ListWatcher], the interface that a reflector needs, and [Client], which
// implements that interface over HTTP.
package listwatch
