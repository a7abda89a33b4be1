package listwatch

import (
	"fmt"
	"hash/maphash"
)

// maxEmptyPages is how many pages in a row may be empty. A server that searches for rare objects may send some
// empty pages. But 10,000 of them would be a search through millions of objects, more than a server stores, so
// the server must be repeating itself with new tokens.
const maxEmptyPages = 10_000

// maxRepeatedPages is how many pages in a row may contain only objects that the list has already. Without this
// limit, a list from a server that ignores the continue token and sends a new one each time would never end. A
// single page may come twice, for example from a proxy that retries.
const maxRepeatedPages = 10

// trail notices if the pages of a list would never end.
//
// It does not remember the keys of all pages. A kube-apiserver sends a list in the order of its keys, so a key that is greater than
// all keys before it is new. Only the other keys are remembered, as hashes of 8 bytes: those of a server that repeats itself, or
// that has another order.
type trail struct {
	tokens   map[string]bool
	greatest string
	others   map[uint64]struct{} // hashes of keys that were not greater than the greatest one
	seed     maphash.Seed        // of others
	keys     int                 // of the present page
	isNew    bool                // the present page has a key that is new
	empty    int                 // pages in a row
	repeated int                 // pages in a row
}

// visit records the key of an object of the present page. A key that is not known, "", counts as new.
func (t *trail) visit(key string) {
	t.keys++
	switch {
	case key == "":
		t.isNew = true
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

// follow ends the present page, and records its continue token. It returns an error if the pages would never end.
func (t *trail) follow(token string) error {
	if t.tokens[token] {
		return fmt.Errorf("%w (one of %d tokens has come back)", ErrContinueLoop, len(t.tokens))
	}
	if t.tokens == nil {
		t.tokens = make(map[string]bool)
	}
	t.tokens[token] = true
	if t.empty++; t.keys > 0 {
		t.empty = 0
	}
	if t.empty == maxEmptyPages {
		return fmt.Errorf("%w (%d empty pages in a row)", ErrContinueLoop, t.empty)
	}
	if t.repeated++; t.keys == 0 || t.isNew {
		t.repeated = 0
	}
	if t.repeated == maxRepeatedPages {
		return fmt.Errorf("%w (%d pages in a row brought nothing new)", ErrContinueLoop, t.repeated)
	}
	t.keys, t.isNew = 0, false
	return nil
}
