// Package protocol holds every rule of the reflector, as a machine that does nothing by itself. It
// is for those who read or test a rule. Programs do not need it: they use package reflector, which
// drives it. It may change in every release before v1.
//
// A driver passes it facts ([Input]) one at a time, and performs the effects that come back
// ([Effect]) in their order. Some of them change the sink, which is whatever holds the objects: a
// queue, a store, a database. The driver's loop:
//
//	for {
//		effects := machine.Step(now, input) // a Tick, or what a request has brought
//		perform(effects)                    // if the sink was given something, the next input is Took or Refused
//		wait(machine.Wake())                // or for the next message of a request
//	}
//
// The machine reads no clock, takes random numbers from [Rules.Rand] only, starts no goroutine and
// does no I/O. So a test can call Step and needs nothing else. Errors and objects stay outside: the
// machine sees a [Failure] with a [Reason], and an [Item] with the metadata of an object.
//
// There are four phases: waiting, listing, streaming (the state comes as the first events of a
// watch) and watching. Each phase has the fields that mean something in it alone. While a watch is
// open, the machine may send other requests: it refetches single objects, it checks that the server
// still has the same history, and it compares everything with the server periodically.
//
//	machine.go      Step, Wake, what a tick does, and everything that is remembered
//	list.go         which list is asked for, with which version and limit; what follows the list, its failure, or Relist
//	initial.go      the whole state as the initial events of a watch; when the machine changes to lists, and when it changes back
//	watch.go        when a watch is opened, and what follows its end
//	event.go        what a watch brings: events, bookmarks, the resume version
//	refusal.go      what follows when the sink has taken a change, or has refused it
//	rollback.go     what follows an answer that is older than what came before, or of another history
//	fold.go         what the machine wants to know of a list
//	backoff.go      how long to wait after a failure, and how many requests a minute may have
//	idle.go         when a watch that brings nothing is given up
//	reason.go       why a request ends, and what follows
//	version.go      which versions move the resume version
//	health.go       what others see, with status.go
//
// These are the conversation. Without the guests that follow, it is a client of a server that sends
// each event in order and readable, and is never restored from a backup. The machine tells history
// and quarantine what happens, and acts on what they say; verify.go and saved.go are steps of the
// machine itself.
//
//	beside.go       what a step does for them, and in which order: repair, history check, refetch, verification
//	history.go      whether this is still the same server, with the same history; recent.go: the newest states, which it asks about
//	quarantine.go   the keys whose latest state the sink may lack
//	refetch.go      the request for one such key, and what its answer means
//	refetched.go    keys for which the sink is ahead of the resume version
//	repair.go       the list that is made if nothing smaller helps
//	verify.go       the comparison of everything with the server
//	saved.go        where a copy can be saved, and how a machine continues from there
//	guests.go       the machine without some of them, to see what they are for
//
// A test prints docs/states.md from this code. It is a table of each fact in each phase, and of
// what follows.
//
// Begin with [Machine.Step].
package protocol
