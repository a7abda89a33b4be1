package mirror

import (
	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/listwatch"
)

// sink is the queue, and holds the consumer back from the moment a list comes until
// the reflector has told of it.
type sink struct {
	*deltafifo.Queue[*listwatch.Raw]
	mirror *Mirror
}

// Replace leaves [Mirror.order] locked. The reflector calls Trace.ListDone after it, on
// the same goroutine and whatever came of it, and that unlocks.
func (s *sink) Replace(items []*listwatch.Raw, resourceVersion string) error {
	s.mirror.order.Lock()
	s.mirror.held = true
	return s.Queue.Replace(items, resourceVersion)
}
