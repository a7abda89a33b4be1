package reflector

import (
	"context"
	"time"

	"github.com/relist-go/relist/listwatch"
)

// Events come in batches: those that are in memory when the first of them is taken, as
// many come in one TCP segment from a busy resource. To wake the driver, and to have it
// look at whatever else it may have to do, costs as much as to apply an event; for a
// batch that is done once. Nothing else differs: no event waits for one that has not
// come, and each is applied by itself and in order.

// maxBatch is how many events may be in a batch. As many may be decoded while those of
// another one are being applied.
const maxBatch = 8

// read passes events on until the stream ends. Two batches are enough, and are used in
// turn: once the driver takes one, it has worked off the other.
func (o *operation[T]) read(ctx context.Context, stream listwatch.Watch[T]) error {
	var batches [2][]listwatch.Event[T]
	for turn := 0; ; turn = 1 - turn {
		batch, err := gather(stream, batches[turn][:0])
		if len(batch) > 0 && !o.send(ctx, message[T]{batch: batch}) {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		batches[turn] = batch
	}
}

// gather waits for an event, and adds it to a batch with those behind it that are here
// already: none is kept waiting for one that is not. With the error that ends the stream
// come the events before it.
func gather[T any](stream listwatch.Watch[T], batch []listwatch.Event[T]) ([]listwatch.Event[T], error) {
	more, _ := stream.(listwatch.Readier)
	for {
		e, err := stream.Next()
		if err != nil {
			return batch, err
		}
		batch = append(batch, e)
		if len(batch) == maxBatch || more == nil || !more.Ready() {
			return batch, nil
		}
	}
}

// work takes the events of a batch, one after the other: each is applied, and the status
// says so, before the next is looked at. What is left of the batch is dropped if an event
// makes the machine give the watch up, or when Run is to end.
func (d *driver[T]) work(ctx context.Context, batch []listwatch.Event[T]) {
	defer clear(batch) // which is used again, and must not keep objects alive
	from := d.op
	for _, e := range batch {
		if d.op != from || d.end != nil || ctx.Err() != nil {
			break
		}
		now := time.Now()
		d.feed(ctx, now, d.takeEvent(e, now))
		d.board.follow(d.state)
	}
	if d.state.resume != d.marked {
		d.mark()
	}
}

// mark tells the sink up to which version it has everything.
func (d *driver[T]) mark() {
	d.marked = d.state.resume
	if marker, ok := d.sink.Sink.(Marker); ok && !unanchored(d.marked) {
		marker.Mark(d.marked)
	}
}

// takeEvent keeps an event for the effects that follow from it, and prepares it for the
// machine.
func (d *driver[T]) takeEvent(e listwatch.Event[T], now time.Time) input {
	d.event = e
	d.board.event(e.Type, now)
	in := event{typ: e.Type, version: e.Meta.ResourceVersion, initialEnd: e.InitialEventsEnd}
	if e.Type == listwatch.Bookmark {
		return in
	}
	d.op.events++
	if _, initial := d.state.phase.(streaming); initial {
		return in
	}
	return d.examine(in)
}
