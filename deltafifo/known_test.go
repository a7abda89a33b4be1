package deltafifo_test

import (
	"testing"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/internal/queuetest"
	"github.com/relist-go/relist/internal/storetest"
	"github.com/relist-go/relist/store"
)

// holder is a consumer's copy of the objects, in a store.
type holder struct {
	*store.Store[*storetest.Object]
}

func (h holder) Process(e deltafifo.Entry[*storetest.Object]) error {
	for _, d := range e.Deltas {
		if d.Type == deltafifo.Deleted {
			if err := h.Delete(d.Object); err != nil {
				return err
			}
			continue
		}
		if err := h.Update(d.Object); err != nil {
			return err
		}
	}
	return nil
}

func TestStoreIsKnown(t *testing.T) {
	queuetest.TestKnown(t, func() queuetest.Holder {
		return holder{store.New(store.Options[*storetest.Object]{})}
	})
}

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
