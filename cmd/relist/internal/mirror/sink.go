package mirror

import (
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
)

// sink is the queue, and holds the consumer back from the moment a list comes until
// the reflector has told of it.
type sink struct {
	reflector.Memory[*listwatch.Raw]
	mirror *Mirror
}

func (s sink) BeginList(reuse bool) reflector.Replacement[*listwatch.Raw] {
	return list{s.Memory.BeginList(reuse), s.mirror}
}

type list struct {
	reflector.Replacement[*listwatch.Raw]
	mirror *Mirror
}

// End leaves [Mirror.order] locked. The reflector calls Trace.ListDone after it, on
// the same goroutine and whatever came of it, and that unlocks.
func (l list) End(resourceVersion string, keep []string, keepAll bool) error {
	l.mirror.order.Lock()
	l.mirror.held = true
	return l.Replacement.End(resourceVersion, keep, keepAll)
}
