package mirror

import (
	"github.com/relist-go/relist/cmd/relist/internal/rawobject"
	"github.com/relist-go/relist/deltafifo"
)

// sink is the queue, and holds the consumer back from the moment a list comes until
// the reflector has told of it.
type sink struct {
	*deltafifo.Queue[*rawobject.Object]
	mirror *Mirror
}

// Replace leaves [Mirror.order] locked. The reflector calls Trace.ListDone after it, on
// the same goroutine and whatever came of it, and that unlocks.
func (s *sink) Replace(items []*rawobject.Object, resourceVersion string) error {
	s.mirror.order.Lock()
	s.mirror.held = true
	return s.Queue.Replace(items, resourceVersion)
}
