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
// watch) or watching. Beside a watch that is open the machine asks for single objects (quarantine.go, ask.go), makes sure that
// the server is the one it was (trust.go), and compares everything now and then (verify.go). docs/states.md is the table that
// the code prints of itself.
//
// Begin with [Machine.Step].
package protocol
