package listwatch

import "github.com/relist-go/relist/listwatch/source"

// What a Client answers with is declared in package source, so that who reads it needs neither HTTP nor formats. These are the
// same types and values.

type (
	// ListWatcher is [source.ListWatcher].
	ListWatcher[T any] = source.ListWatcher[T]

	// Page is [source.Page].
	Page[T any] = source.Page[T]

	// Watch is [source.Watch].
	Watch[T any] = source.Watch[T]

	// Event is [source.Event].
	Event[T any] = source.Event[T]

	// Funcs is [source.Funcs].
	Funcs[T any] = source.Funcs[T]

	// Meta is [source.Meta].
	Meta = source.Meta

	// ObjectError is [source.ObjectError].
	ObjectError = source.ObjectError
)

// The types of a watch event.
const (
	Added    = source.Added
	Modified = source.Modified
	Deleted  = source.Deleted
	Bookmark = source.Bookmark
)
