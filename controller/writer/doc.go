// Package writer writes objects of one resource: it creates, updates, patches, applies and deletes
// them, as values of any type that package listwatch can decode. It is for controllers, and for all
// other programs that write. It has no cache, and tries nothing again. relist.New makes a cache and
// a writer of one type.
//
//	configMaps := object.Type{Version: "v1", Resource: "configmaps", Kind: "ConfigMap"}
//	w, err := writer.New[*ConfigMap](client, configMaps, writer.Options{FieldManager: "shop"})
//	written, err := w.Apply(ctx, &ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "town", Name: "bakery"}, Data: prices})
//	err = cache.WaitForVersion(ctx, written.GetResourceVersion()) // the store of an informer has it now
//
// Every method but Delete returns the object as the server has it after the write, so that a
// program can wait until its own cache has that version.
//
// A type may lack fields that the objects have. [Writer.Modify], [Writer.Apply] and
// [Writer.MergePatch] leave those fields alone. [Writer.Update] replaces whole objects, and would
// delete those fields: it returns [ErrIncomplete] unless [Options].Complete says that the type has
// every field. Unstructured objects have every field.
//
// A Writer sends each request once. Only after a 401, and if the credentials have been replaced, it
// sends the request a second time, because the server has done nothing. A conflict is an error for
// which apierrors.IsConflict is true: read the object again and decide again. In a controller,
// return the error, and the key comes back after a delay. An error says what was being done to
// which object, and wraps the error of the server.
//
// If a request gets no answer, for example because the connection broke, the server may have made
// the write.
//
// Begin with [New].
package writer
