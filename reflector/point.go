package reflector

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/protocol"
)

// Point is a place in the history of a server at which a copy was saved, and from which a reflector can go on: see
// [Options.Start]. A Sink learns the points from [PointMarker].
//
// A copy at a point keeps a promise: for every key that is not among Doubts, except for MoreDoubts others, the copy equals the server
// at Version. A program
// that saves a copy on its own must keep this promise, too. Version is the version of a list or of a bookmark, or of an event up
// to which everything was applied. It is never the highest version of an object.
type Point struct {
	// Version is a resourceVersion. If it is empty, there is no such place.
	Version string `json:"version"`

	// Doubts are the keys whose objects may be older or newer in the copy than at Version, or may be missing there: see
	// [Status.Quarantined]. The reflector asks the server for each of them. There are about 1,000 at most.
	Doubts []string `json:"doubts,omitempty"`

	// MoreDoubts counts further objects of this kind, see [Status.MoreQuarantined]. Their keys are not told, so the reflector lists,
	// less and less often: in the end, every 10 to 20 minutes.
	MoreDoubts int `json:"moreDoubts,omitempty"`

	// Newest are the newest states that the server had sent, the highest version first. A deletion counts, too. There are at most
	// four. They show whether the server was restored from a backup since. If there are none, the reflector looks at every object
	// that the sink holds, and takes the newest at or below Version.
	Newest []Newest `json:"newest,omitempty"`

	// Since is a version, or empty. If it is a version, those of Newest that are newer are all events that the server had sent
	// after it. The watch then begins there, and the server has to repeat these events.
	Since string `json:"since,omitempty"`
}

// Newest is one of the newest states of a [Point].
type Newest struct {
	Meta listwatch.Meta `json:"meta"`
	Gone bool           `json:"gone,omitempty"` // it was deleted
}

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
	saved := protocol.Saved{
		Version: d.start.Version, Doubts: slices.Clone(d.start.Doubts), MoreDoubts: d.start.MoreDoubts, Since: d.start.Since,
	}
	for _, n := range d.start.Newest {
		saved.Newest = append(saved.Newest, protocol.Newest{Meta: n.Meta, Gone: n.Gone})
	}
	if len(saved.Newest) == 0 {
		for keys := range slices.Chunk(d.sink.keys(), maxExpected) {
			d.expect(keys)
			for _, key := range keys {
				if meta, ok := d.held(key); ok {
					saved.NoteHeld(meta)
				}
			}
		}
	}
	d.step(ctx, now, protocol.ResumeSaved{Saved: saved}, nil)
	return nil
}

// markPoint tells the sink the point at which it can be saved, if the point or the sink has changed.
func (d *driver[T]) markPoint() {
	saved := d.machine.Saved()
	p := Point{Version: saved.Version, Doubts: saved.Doubts, MoreDoubts: saved.MoreDoubts, Since: saved.Since}
	for _, n := range saved.Newest {
		p.Newest = append(p.Newest, Newest{Meta: n.Meta, Gone: n.Gone})
	}
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
