package reflector

// Initial is a way to get the whole state of a resource.
type Initial uint8

const (
	// ListAny asks for any state that the server has at hand (resourceVersion=0), which
	// costs it least. A first list may so be a little behind; what is delivered after
	// it never goes back. Later lists are not older than what was delivered.
	ListAny Initial = iota

	// ListMostRecent asks for the most recent state in the first list.
	ListMostRecent

	// Watch has the server send the state as the first events of a watch
	// (sendInitialEvents), one by one, which takes the least memory of it. The state
	// is the most recent. A server that refuses, or that does not come to the end of
	// it in two streams or within 30 seconds of silence, is asked for lists for an
	// hour.
	// Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#streaming-lists
	Watch
)
