package simulation

// What adversaries do not do to relist, because it is known to break. Each of these is
// to be set to false by who mends it; then a simulation shows that it is mended.
const (
	// A list without a version: the highest version seen is forgotten, so that the next
	// list, at 0, may be of the past; and the watch from it brings another object of a
	// name without a word about the deletion of the first.
	spareAnonymousLists = true

	// A list that is older than an object which a Get has brought, and not older than
	// was asked for.
	spareListsBehindGets = true

	// A list at a resourceVersion with a limit: without resourceVersionMatch that asks
	// for exactly this version, so that a watch which is refused with 410 and a list which
	// is answered with the old state follow each other for as long as that is kept.
	sparePages = true
)
