package reflector

// Initial is a way to get the whole state of a resource.
type Initial uint8

const (
	// ListAny asks for any state that the server has at hand (resourceVersion=0), which
	// costs it least. A first list may so be a little behind; what is delivered after
	// it never goes back. Later lists are not older than what was delivered.
	//
	// Like ListMostRecent it is done without for an hour, and Watch done instead, where
	// two lists in a row took longer than the server remembers events, so that it could
	// not watch from them.
	ListAny Initial = iota

	// ListMostRecent asks for the most recent state in the first list.
	ListMostRecent

	// Watch has the server send the state as the first events of a watch
	// (sendInitialEvents), one by one, which takes the least memory of it. The state
	// is the most recent. A server that refuses, or that does not come to the end of
	// it in two streams, within 30 seconds of silence, or 30 seconds after the first
	// event that is no part of it, is asked for lists for an hour.
	// Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#streaming-lists
	Watch
)
