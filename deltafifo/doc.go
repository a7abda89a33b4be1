// Package deltafifo is the queue between a reflector, which reports changes, and a consumer, which
// acts on them. An informer has one: a program needs its own if it has to see each change of each
// object. It is no store, and no work queue: it does not keep what was processed, and retries
// nothing. Package controller has a queue of keys with retries.
//
// The queue has one entry for each object, with the object's changes, oldest first.
//
// The producer calls Add, Update and Delete for watch events, Replace for a list, and Resync to
// have every object processed again. The consumer calls Pop, which takes the oldest entry. If an
// object changes while its entry waits, the change joins that entry.
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
// If a list lacks an object, the object was deleted while no watch was open. To find such objects,
// Replace compares the list with the objects that the consumer holds ([KnownObjects]), that wait in
// the queue, and that are being processed. For each missing object it queues a Deleted whose
// [Delta] has a Tombstone.
//
// Marks ([Queue.Mark]) stand between the entries. A mark is a resourceVersion, and all changes up
// to that version stand before the mark. If all entries before a mark have been processed, the
// queue calls [Options.OnMarkPassed], and calls of [Queue.WaitForVersion] for that version return.
//
// Begin with [Queue] and [Delta].
package deltafifo
