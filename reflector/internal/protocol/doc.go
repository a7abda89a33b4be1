// Package protocol holds every rule of the reflector, as a machine that does nothing by itself.
//
// A driver tells it facts ([Input]) one at a time, and performs the effects that come back ([Effect]) in their order:
//
//	for {
//		effects := machine.Step(now, input) // a Tick, or what a request has brought
//		perform(effects)                    // if the sink refuses, the next input is SinkRefused
//		wait(machine.Wake())                // or for the next message of a request
//	}
//
// The machine reads no clock, throws no dice but [Rules.Rand], starts no goroutine and does no I/O, so a test is a call. Errors
// and objects stay outside: it sees a [Failure] with a [Reason], and an [Item] with the metadata of an object.
//
// What is only valid in a phase lives in the phase: waiting, listing, streaming (the state comes as the first events of a
// watch) or watching. Beside a watch that is open the machine asks for single objects, makes sure that the server is the one it
// was, and compares everything now and then.
//
//	machine.go      Step, Wake, what a tick does, and everything that is remembered
//	list.go         which list is asked for, with which version and limit; what follows the list, its failure, or Relist
//	initial.go      the whole state as the initial events of a watch; when that gives way to lists, and lists to that
//	watch.go        events, bookmarks, the resume point, fences; what follows the end of a watch
//	pause.go        how long to wait after a failure, and how many requests a minute may have
//	silence.go      when a watch that brings nothing is given up
//	quarantine.go   the keys of which the sink may not have the latest
//	ask.go          the request for one such key, and what its answer means
//	trust.go        the probe: whether the server is the one that there was
//	refusal.go      what follows if the sink does not take a change
//	repair.go       the list that is due if nothing less helps
//	verify.go       the comparison of everything with the server
//	fold.go         what the machine wants to know of a list
//	reason.go       why requests end; version.go: how versions move the resume point; health.go, status.go: what others see
//
// docs/states.md is the table that the code prints of itself: each fact in each phase, and what follows.
//
// Begin with [Machine.Step].
package protocol
