// Package writer writes objects of one resource: it creates, updates, patches, applies and deletes them, as values of any type
// that package listwatch can decode.
//
//	w, err := writer.New[*ConfigMap](client, configMaps, writer.Options{Kind: "ConfigMap", FieldManager: "shop"})
//	written, err := w.Apply(ctx, &ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "town", Name: "bakery"}, Data: prices})
//	err = cache.WaitFor(ctx, written.GetResourceVersion()) // the store of an informer has it now
//
// Every function returns the object as the server has it after the write, so that a program can wait until its own cache has
// come so far.
//
// A type may lack fields that the objects have. [Writer.Apply] and [Writer.MergePatch] leave those alone. [Writer.Update]
// replaces whole objects, and would delete them: it returns [ErrIncomplete] unless [Options].Complete says that the type has
// every field. Unstructured objects have every field.
//
// Nothing is tried again, except once after a 401 if the credentials have been replaced, because then the server has done
// nothing. A conflict is an error that apierrors.IsConflict knows: read the object again and decide afresh. In a controller,
// return the error, and the key comes back after a pause. Errors say what was being done to which object, and the error of the
// server is under them.
//
// If an error is no answer of the server, such as that of a broken connection, the server may have done what it was asked for.
//
// Begin with [New].
package writer
