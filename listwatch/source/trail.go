package source

import (
	"fmt"
	"hash/maphash"
)

// maxStalePages is how many pages in a row may bring no new object: they are empty, or contain only
// objects without a name or that the list has already. Without this limit, a list from a server
// that sends a new token each time would never end, and its requests would follow each other
// without a delay. Some pages of this kind are normal: a server that searches for rare objects may
// send an empty page, and a proxy that retries may send one twice. A kube-apiserver searches on
// until a page is full.
const maxStalePages = 10

// trail notices if the pages of a list would never end.
//
// It does not remember the keys of all pages. A kube-apiserver sends a list in the order of its
// keys, so a key that is greater than all keys before it is new. Only the other keys are
// remembered, as hashes of 8 bytes: those of a server that repeats itself, or that has another
// order. Tokens are not remembered: behind a token that comes back is a page that came before.
type trail struct {
	greatest string
	others   map[uint64]struct{} // hashes of keys that were not greater than the greatest one
	seed     maphash.Seed        // of others
	isNew    bool                // the present page has an object that is new
	stale    int                 // pages in a row
}

// visit records the key of an object of the present page. An object without a name, "", is not new:
// nothing tells it from another.
func (t *trail) visit(key string) {
	switch {
	case key == "":
		return
	case key > t.greatest:
		t.greatest, t.isNew = key, true
		return
	case t.others == nil:
		t.others, t.seed = make(map[uint64]struct{}), maphash.MakeSeed()
	}
	hash := maphash.String(t.seed, key)
	if _, ok := t.others[hash]; !ok {
		t.others[hash] = struct{}{}
		t.isNew = true
	}
}

// follow ends the present page, which was asked for with the token asked and continues at the token
// next. It returns an error if the pages would never end.
func (t *trail) follow(asked, next string) error {
	if next == asked {
		return fmt.Errorf("%w (a page continues at itself)", errContinueLoop)
	}
	if t.stale++; t.isNew {
		t.stale = 0
	}
	if t.stale == maxStalePages {
		return fmt.Errorf("%w (%d pages in a row without a new object)", errContinueLoop, t.stale)
	}
	t.isNew = false
	return nil
}
