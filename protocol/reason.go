package protocol

import "time"

// Reason says why a request or a stream ended, and so why the machine waits or lists again. The
// table reasons says what follows the end of a request. Other reasons are conclusions of the
// machine, and what follows them is beside their cause, as in repairByList.
type Reason uint8

// The reasons. Several causes share one reason if neither the machine nor a reader of its reports
// has to distinguish them.
const (
	Closed          Reason = iota + 1 // the server ended the stream cleanly
	ConnectionLost                    // the connection broke: under an open stream, in the middle of a list, or before any answer
	TimedOut                          // the stream was still open 10 s after its timeout, so the connection is taken for dead
	Unreachable                       // no connection could be made
	Unavailable                       // 502, 503 or 504, often of a proxy
	Throttled                         // 429
	Expired                           // 410: the server no longer has the resourceVersion asked for
	TooLarge                          // the server does not have the resourceVersion yet
	Denied                            // 401 or 403, or no credential could be had: the rights or the credential must change first
	Failed                            // any other error status
	Malformed                         // an answer that is not a list or a watch; or a first list whose objects cannot be decoded
	EmptyWatches                      // two streams in a row ended immediately and without an event
	Unversioned                       // a watch without a resourceVersion, which cannot be resumed
	SinkFailed                        // the sink did not take a change
	RelistRequested                   // the program asked for a list
	IdleTimeout                       // nothing came for so long that the connection is taken for dead
	Incomplete                        // the initial events of a watch did not come to an end
	RolledBack                        // the server's answer is older than what it gave before, or of another history
	NotFound                          // 404: the type is not there yet, or no longer
	Repair                            // a change could not be read, and its object could not be asked for
	reasonsEnd                        // one past the last
)

// reasons says of each reason what it is called, whether a delay for it means that something is
// wrong, and what follows if a list, a stream of initial events, or a watch ends for it.
var reasons = [reasonsEnd]struct {
	word                string
	means               meaning
	list, stream, watch follow
}{
	Closed:         {"closed", ifRepeated, report, cut, dropped},
	ConnectionLost: {"connectionLost", ifRepeated, report, cut, dropped},
	TimedOut:       {"timedOut", wrong, report, cut, dropped},
	Unreachable:    {"unreachable", wrong, report, cut, again},
	Unavailable:    {"unavailable", wrong, report, cut, again},
	Throttled:      {"throttled", wrong, report, refused, again},
	Expired:        {"expired", ifNotWatching, newest, newest, relist},
	TooLarge:       {"tooLarge", ifNotWatching, newest, newest, relist},
	Denied:         {"denied", wrong, report, report, report},
	Failed:         {"failed", wrong, rejected, rejected, rejected},
	Malformed:      {"malformed", wrong, report, cut, rejected},
	IdleTimeout:    {"idleTimeout", wrong, report, cut, dropped},
	NotFound:       {"notFound", wrong, report, report, report},

	// No request ends for these: they are conclusions of the machine.
	EmptyWatches: {"emptyWatches", wrong, never, never, never}, Unversioned: {"unversioned", usual, never, never, never},
	SinkFailed: {"sinkFailed", wrong, never, never, never}, RelistRequested: {"relistRequested", usual, never, never, never},
	Incomplete: {"incomplete", usual, never, never, never}, RolledBack: {"rolledBack", usual, never, never, never},
	Repair: {"repair", usual, never, never, never},
}

// follow is what follows the end of a request. See listFailed, streamEnded and watchEnded.
type follow uint8

const (
	never    follow = iota + 1
	again           // after a delay, the same request
	report          // the same, and a problem is reported
	newest          // the most recent state is asked for, if it was not
	rejected        // the request itself may be at fault: a list asks for the most recent state from the third 4xx on, a stream becomes lists, and a watch becomes a list after three
	refused         // the initial events did not come; after two such streams, a list (the default of streamEnded)
	cut             // the same, if the stream was open
	relist          // a list
	dropped         // the next watch, at once or after a delay; or a list, if watches bring nothing
)

// meaning is what a delay for a reason says.
type meaning uint8

const (
	wrong         meaning = iota + 1 // something is wrong: there is an outage
	usual                            // a list follows, and its report has the reason
	ifRepeated                       // something is wrong, unless it is the end of one stream: only several are an outage
	ifNotWatching                    // if a watch has failed, a list follows, and usually works
)

// String returns the reason as one word, for logs and for relist mirror -o json.
func (r Reason) String() string {
	if r == 0 || r >= reasonsEnd {
		return "unknown"
	}
	return reasons[r].word
}

// Failure is an error of the server or of the connection. It is classified once, by the driver.
type Failure struct {
	Reason     Reason
	Code       int           // the HTTP status; 0 if there is none
	RetryAfter time.Duration // the delay that the server asks for; 0 if it asks for none

	// Err is the error as it was. The machine passes it on to those who report it, and never looks
	// at it.
	Err error
}

// retryAfter is the time that the machine waits at least because the server asks for it.
func (f Failure) retryAfter() time.Duration { return min(f.RetryAfter, maxRetryAfter) }

// findsFault reports whether the status says that the request is wrong: 400 to 499.
func (f Failure) findsFault() bool { return f.Code >= 400 && f.Code < 500 }

// ProblemClass says what a problem concerns.
type ProblemClass uint8

// The classes of problems.
const (
	ListProblem ProblemClass = iota + 1 // a list failed, and will be tried again

	// WatchProblem: a watch failed, and another try may not help: the server refused it with a
	// status other than 410, 429, 502, 503 and 504, sent something malformed, sent no answer, or
	// did not complete the initial events.
	WatchProblem

	ObjectProblem  // an object could not be decoded or transformed, so the sink lacks its latest version
	VersionProblem // a list, event or bookmark came without a resourceVersion, or with one that is older than what was seen
	SinkProblem    // the sink did not take a change
	DriftProblem   // a verification found an object that differs from the server's
	classesEnd
)

var classWords = [classesEnd]string{
	ListProblem: "list", WatchProblem: "watch", ObjectProblem: "object", VersionProblem: "version", SinkProblem: "sink", DriftProblem: "drift",
}

// String returns the class as one word.
func (c ProblemClass) String() string {
	if c == 0 || c >= classesEnd {
		return "unknown"
	}
	return classWords[c]
}
