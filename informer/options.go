package informer

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// Options of an [Informer]. The zero value is ready.
type Options[T object.Object] struct {
	// Indexers are the indexes that the store has from the start. If nil, it has none. A program
	// can add more later: [Informer.Store] returns a [Reader], which has a method AddIndexer.
	Indexers store.Indexers[T]

	// Reflector configures how the resource is listed and watched, and Reflector.Trace is told what
	// happens on the way. Reflector.Resync is not used, because every handler has a period of its
	// own: [Handler.Resync]. Reflector.Start is not used, because the store is empty when Run
	// begins, or has the copy of Checkpoint.
	Reflector reflector.Options

	// Logger gets lines about what happens: problems at Warn, once for each state and not once for
	// each attempt; at Info a line for each list that has arrived; the rest at Debug.
	// [reflector.LogTrace] says what they are. Each line has the attributes "resource" and
	// "namespace", if the ListWatcher says what it lists, as listwatch.Client and source.Funcs do,
	// and "member", the informer's name in a [Group].
	// If Logger is nil, the lines go to what slog.Default() returned when New was called. So a
	// program that sets nothing is also told when the server is away. slog.New(slog.DiscardHandler)
	// writes nothing. Reflector.Trace is called as well.
	Logger *slog.Logger

	// Checkpoint saves the store for the next process, and loads the copy that an earlier process
	// has saved. It is usually a checkpoint.File. When Run begins, it loads the copy, and the store
	// has the objects before the first request to the server. Handlers get its objects as initial
	// ones, and then what has changed since. The informer opens a watch at the version of the copy.
	// It lists if the server no longer has that version, if the server was restored from a backup,
	// or if there is no copy that can be used. If a copy cannot be used, Logger gets a line at
	// Warn. See [reflector.Options.Start].
	//
	// [Informer.Synced] waits until the server has resumed the watch and the newest object of the
	// copy was compared with the server's; that takes two small requests. Changes from the time
	// when no process ran may come later. [Informer.Loaded] does not wait for the server: a program
	// that may serve old objects waits for Loaded.
	//
	// The informer asks again for objects that were in quarantine when the copy was saved. It does
	// not run the transform again on saved objects. If Checkpoint is nil, nothing is saved. A
	// [MultiNamespace] cannot have one.
	Checkpoint Checkpointer[T]

	// CheckpointEvery is how often the store is saved. If zero, every 5 minutes. If negative, only
	// when Run ends. If Run begins without a copy, the first list is saved as soon as it has come.
	// A save does not stop the informer, and is left out if nothing has changed, not even the
	// resourceVersion. When Run ends, it applies what waits in the queue to the store, and saves
	// once more, which may take up to 20 s. This copy is worth most, because a server keeps old
	// versions for a few minutes only.
	//
	// The store is saved when it has caught up with the server's events, and not while the server
	// may be another one than before: see [reflector.Sink]. What was saved before stays until then.
	CheckpointEvery time.Duration
}

func (opts *Options[T]) logger() *slog.Logger {
	return cmp.Or(opts.Logger, slog.Default())
}

// trace returns what the reflector is to call: the program's Trace, and the log.
func (opts *Options[T]) trace() *reflector.Trace {
	return reflector.JoinTraces(opts.Reflector.Trace, reflector.LogTrace(opts.logger()))
}
