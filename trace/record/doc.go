// Package record makes golden traces of live conversations.
//
//	reflector ──plain HTTP/1.1 in memory──> tap ──transport.Client──> API server
//
// The client that is recorded is the one that a replay runs: a [trace.Program],
// without jitter. It talks to a tap in the same process. The tap asks the API
// server the same, hands on what comes, piece by piece, and writes everything down
// with its time. A piece is handed on when the client has taken the one before, so
// that it is known which of them made it hang up.
//
// What was written down is then said again, in virtual time, to a second client of
// the same kind, and that conversation is the trace: it passes from the start. The
// requests of the second client are compared with those of the first; where they
// differ the trace would be about something else than what was seen, and the
// result is a [DivergedError] and the raw recording.
//
// Of the objects a trace has what identifies them, unless Options.Full is set.
// Credentials are not recorded: the tap's upstream adds them, and what it is
// answered with has been cleaned of them.
//
// Begin with Record.
package record
