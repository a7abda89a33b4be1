package protocol

import "time"

// Reason says why a request or a stream ended, and so why the machine waits or lists again.
type Reason uint8

// The reasons. Several causes share one reason if neither the machine nor a reader of its reports has to tell them apart.
const (
	Closed      Reason = iota + 1 // the server ended the stream in good order
	Cut                           // the connection broke under an open stream
	TimedOut                      // the server kept the stream open for longer than its timeout
	Unreachable                   // no answer came, or a list broke off
	Unavailable                   // 502, 503 or 504, often of a proxy
	Throttled                     // 429
	Expired                       // 410: the server no longer has the resourceVersion asked for
	TooLarge                      // the server does not have the resourceVersion yet
	Denied                        // 401 or 403
	Failed                        // any other error status
	Malformed                     // an answer that is not a list or a watch
	Empty                         // streams that ended at once and without an event
	Unanchored                    // a watch without a resourceVersion, which cannot be resumed
	SinkFailed                    // the sink did not take a change
	Asked                         // somebody asked for a list
	Silent                        // nothing came for too long
	Incomplete                    // the initial events of a watch did not come to an end
	WentBack                      // the server's storage is older than before, or has another history
	NotFound                      // 404
	Repair                        // a change could not be read, and its object could not be asked for
	reasonsEnd                    // one past the last
)

var reasonWords = [reasonsEnd]string{
	Closed: "closed", Cut: "cut", TimedOut: "timedOut", Unreachable: "unreachable", Unavailable: "unavailable",
	Throttled: "throttled", Expired: "expired", TooLarge: "tooLarge", Denied: "denied", Failed: "failed",
	Malformed: "malformed", Empty: "empty", Unanchored: "unanchored", SinkFailed: "sinkFailed", Asked: "asked",
	Silent: "silent", Incomplete: "incomplete", WentBack: "wentBack", NotFound: "notFound", Repair: "repair",
}

// String returns the reason as one word.
func (r Reason) String() string {
	if r == 0 || r >= reasonsEnd {
		return "unknown"
	}
	return reasonWords[r]
}

// Failure is an error of the server or of the connection. It is classified once, by the driver.
type Failure struct {
	Reason     Reason
	Code       int           // the HTTP status; 0 if there is none
	RetryAfter time.Duration // the delay that the server asks for; 0 if it asks for none

	// Err is the error as it was. The machine passes it on to those who report it, and never looks at it.
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
	ListProblem    ProblemClass = iota + 1 // a list failed
	WatchProblem                           // a watch failed, and another try may not help
	ObjectProblem                          // an object could not be decoded or transformed
	VersionProblem                         // a resourceVersion is missing, or older than what was seen
	SinkProblem                            // the sink did not take a change
	DriftProblem                           // a verification found an object that differs from the server's
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
