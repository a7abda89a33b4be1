package reflector

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/relist-go/relist/protocol"
)

// Point is a place in the history of a server at which a copy was saved, and from which a reflector can go on: see
// [Options.Start]. A Sink learns the points from [PointMarker].
type Point = protocol.Point

// StartAt sets [Options.Start], for a program that learns the point after it has made the reflector. The program calls it before the
// first Run.
func (r *Reflector[T]) StartAt(p Point) { r.start = p }

// errStart is what Run returns if the sink does not suit Options.Start.
var errStart = errors.New("reflector: Options.Start needs a sink that is Held, and Known or Remote")

// begin tells the machine of the saved copy that the sink holds, once.
func (d *driver[T]) begin(ctx context.Context, now time.Time) error {
	if d.start.Version == "" {
		return nil
	}
	if !d.sink.tells() || d.sink.keys == nil {
		return errStart
	}
	start := d.start
	start.Doubts = slices.Clone(start.Doubts) // NoteHeld adds to them
	if len(start.Newest) == 0 {
		for keys := range slices.Chunk(d.sink.keys(), maxExpected) {
			d.expect(keys)
			for _, key := range keys {
				if meta, ok := d.held(key); ok {
					start.NoteHeld(meta)
				}
			}
		}
	}
	d.step(ctx, now, protocol.ResumeSaved{Point: start}, nil)
	return nil
}

// markPoint tells the sink the point at which it can be saved, if the point or the sink has changed.
func (d *driver[T]) markPoint() {
	p := d.machine.Point()
	if !d.sinkCalled && equalPoints(p, d.markedPoint) {
		return
	}
	d.sinkCalled, d.markedPoint = false, p
	d.sink.point(p)
}

func equalPoints(a, b Point) bool {
	return a.Version == b.Version && a.Since == b.Since && a.MoreDoubts == b.MoreDoubts &&
		slices.Equal(a.Doubts, b.Doubts) && slices.Equal(a.Newest, b.Newest)
}
