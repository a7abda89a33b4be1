package informertest

import (
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/object"
)

// Calls returns h with every call told to say, before the callback of h, if h has that one:
//
//	OnAdd default/a@5 initial
//	OnSynced
//	OnUpdate default/a@5 -> @6
//	OnDelete default/a@6 inferred
//
// In a golden trace, say is the Say of a trace.Env. The lines of h's own effects, if h says them,
// then stand below its calls. To see what an informer calls, give it the Calls of an empty Handler.
// Two handlers of one informer have a goroutine each, so a trace is for the calls of one of them.
func Calls[T object.Object](say func(line string), h informer.Handler[T]) informer.Handler[T] {
	told := h
	told.OnAdd = func(obj T, initial bool) {
		say("OnAdd " + state(obj) + word(initial, " initial"))
		if h.OnAdd != nil {
			h.OnAdd(obj, initial)
		}
	}
	told.OnUpdate = func(old, obj T) {
		say("OnUpdate " + state(old) + " -> @" + obj.GetResourceVersion())
		if h.OnUpdate != nil {
			h.OnUpdate(old, obj)
		}
	}
	told.OnDelete = func(obj T, inferred bool) {
		say("OnDelete " + state(obj) + word(inferred, " inferred"))
		if h.OnDelete != nil {
			h.OnDelete(obj, inferred)
		}
	}
	told.OnSynced = func() {
		say("OnSynced")
		if h.OnSynced != nil {
			h.OnSynced()
		}
	}
	return told
}

// state is an object as traces have it.
func state[T object.Object](obj T) string { return object.Key(obj) + "@" + obj.GetResourceVersion() }

func word(is bool, text string) string {
	if is {
		return text
	}
	return ""
}
