package reflector

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/relist-go/relist/protocol"
)

// Point is a place in the history of a server at which a copy was saved, and from which a reflector
// can resume: see [Options.Start]. [Sink.At] tells a sink its points.
type Point = protocol.Point

// StartAt sets [Options.Start], for a program that learns the point after it has made the
// reflector. The program calls it before the first Run.
func (r *Reflector[T]) StartAt(p Point) {
	r.start = p
	r.shared.update(func(status *Status) { status.StartCurrent = p.Current })
}

// errStart is what Run returns if the sink does not suit Options.Start.
var errStart = errors.New("reflector: Options.Start needs a sink that is a Holder")

// begin gives the machine the saved copy that the sink holds, once.
func (d *driver[T]) begin(ctx context.Context, now time.Time) error {
	if d.start.Version == "" {
		return nil
	}
	if d.holder == nil {
		return errStart
	}
	start := d.start
	start.Unsure = slices.Clone(start.Unsure) // NoteHeld adds to them
	if len(start.Newest) == 0 {
		for keys := range slices.Chunk(d.holder.Keys(), maxExpected) {
			d.holder.Expect(keys)
			for _, key := range keys {
				if meta, ok := d.held(key); ok {
					start.NoteHeld(meta)
				}
			}
		}
	}
	d.step(ctx, now, protocol.ResumeSaved{Point: start})
	return nil
}

func equalPoints(a, b Point) bool {
	return a.Version == b.Version && a.Since == b.Since && a.MoreUnsure == b.MoreUnsure &&
		slices.Equal(a.Unsure, b.Unsure) && slices.Equal(a.Newest, b.Newest)
}
