// Package deltafifo is the queue between a reflector, which says what changed, and a consumer, which does something about
// it: one entry per object, holding what happened to it, oldest first.
//
// The producer calls Add, Update and Delete for watch events, Replace for a list and Resync for a reminder. The consumer
// calls Pop, which hands over the oldest entry; while it is away, further changes to an object join the entry that waits
// for it already.
//
//	q := deltafifo.New(deltafifo.Options[*corev1.Pod]{Known: objects})
//	for {
//		err := q.Pop(ctx, func(e deltafifo.Entry[*corev1.Pod]) error {
//			for _, d := range e.Deltas {
//				if d.Type == deltafifo.Deleted { ... } else { ... }
//			}
//			return nil
//		})
//		...
//	}
//
// What a list lacks was deleted while nobody watched. Replace finds such objects by comparing the list with what the
// consumer holds ([Known]), what waits in the queue and what is being processed at this moment, and queues a Deleted whose
// [Delta] carries a Tombstone.
//
// Between the entries stand marks ([Queue.Mark]): resourceVersions up to which the producer has given everything. Once all that
// is before a mark has been processed, the consumer is told ([Options].Passed), and those who wait for the version go on
// ([Queue.WaitFor]).
//
// Begin with [Queue] and [Delta].
package deltafifo
