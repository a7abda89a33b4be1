package deltafifo_test

import (
	"testing"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/store"
)

// Without Known, only objects that are queued or being processed exist.
func TestNobodyKnown(t *testing.T) {
	q := deltafifo.New(options{})
	f := &fixture{T: t, q: q, known: store.New(store.Options[*testObject]{})}
	f.add("a@1")
	f.drain()
	f.delete("a@2")
	f.resync()
	f.add("b@3")
	f.replace("c@4")
	f.want("a: Added@1", "b: Added@3 Deleted?@3 initial", "c: Replaced@4 initial")
}
