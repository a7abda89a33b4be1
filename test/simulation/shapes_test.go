package simulation

import (
	"errors"
	"io"
	"net/http"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/source"
	relistobject "github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
	"github.com/relist-go/relist/transport/frames"
)

// refusal is an error instead of an answer, or in the place of an event.
type refusal struct {
	name string
	err  error
}

func status(code int32, reason metav1.StatusReason, message string) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
}

func later(err *apierrors.StatusError, seconds int32) *apierrors.StatusError {
	err.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: seconds}
	return err
}

func tooLarge() *apierrors.StatusError {
	err := later(status(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "Too large resource version: 9000, current: 1000"), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return err
}

// refusals are all the ways to say no that a list, a watch and a stream have in common.
var refusals = []refusal{
	{"410 Expired", status(http.StatusGone, metav1.StatusReasonExpired, "too old resource version: 5 (900)")},
	{"410 Gone", status(http.StatusGone, metav1.StatusReasonGone, "gone")},
	{"410 without a reason", status(http.StatusGone, "", "")},
	{"504 Too large resource version", tooLarge()},
	{"504 Too large, in words alone", status(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "Too large resource version: 9000, current: 1000")},
	{"429", status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "slow down")},
	{"429 with Retry-After: 3", later(status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "slow down"), 3)},
	{"400", status(http.StatusBadRequest, metav1.StatusReasonBadRequest, "no")},
	{"401", status(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "who are you")},
	{"403", status(http.StatusForbidden, metav1.StatusReasonForbidden, "no right")},
	{"404", status(http.StatusNotFound, metav1.StatusReasonNotFound, "no such type")},
	{"406", status(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, "no such format")},
	{"422", status(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "sendInitialEvents is forbidden")},
	{"500", status(http.StatusInternalServerError, metav1.StatusReasonInternalError, "oh no")},
	{"502", status(http.StatusBadGateway, "", "bad gateway")},
	{"503 with Retry-After: 20", later(status(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "later"), 20)},
	{"504", status(http.StatusGatewayTimeout, "", "gateway timeout")},
	{"connection refused", syscall.ECONNREFUSED},
	{"connection reset", syscall.ECONNRESET},
	{"end of file", io.ErrUnexpectedEOF},
	{"something else", errors.New("the network is a mess")},
	{"HTML of a proxy", &transport.UnexpectedContentError{StatusCode: http.StatusOK, ContentType: "text/html", Head: "<html>"}},
}

// plan is what becomes of one watch. The zero value is a good one, which the server
// ends at its timeout.
type plan struct {
	name string

	refused error // instead of a stream

	// The stream ends with err after a time, or after so many events, whichever is
	// first; if err is nil, it does not end before its timeout.
	err    error
	after  time.Duration
	events int

	// lead are events out of turn that come first.
	lead []source.Event[*object]

	changes   bool // an object changes as the watch is opened
	silent    bool // nothing is ever sent, and the timeout passes
	unending  bool // initial events have no end
	unmarked  bool // the bookmark that ends them does not say so
	anonymous bool // and has no version
	replays   uint64
}

// watchPlans are plans without refusals.
var watchPlans = []plan{
	{name: "closed at once", err: io.EOF},
	{name: "cut at once", err: io.ErrUnexpectedEOF},
	{name: "closed after half a second", err: io.EOF, after: 500 * time.Millisecond},
	{name: "closed after 5 s", err: io.EOF, after: 5 * time.Second},
	{name: "closed after 10 s", err: io.EOF, after: 10 * time.Second},
	{name: "cut after 11 s", err: io.ErrUnexpectedEOF, after: 11 * time.Second},
	{name: "reset after a minute", err: syscall.ECONNRESET, after: time.Minute},
	{name: "closed after one event", err: io.EOF, events: 1, after: time.Hour},
	{name: "cut after one event", err: io.ErrUnexpectedEOF, events: 1, after: time.Hour},
	{name: "cut after three events", err: io.ErrUnexpectedEOF, events: 3, after: time.Hour},
	{name: "closed after a bookmark", err: io.EOF, events: 1, lead: bookmarks("1000")},
	{name: "garbage after an event", err: &frames.Error{Reason: "garbage"}, events: 1, after: time.Hour},
	{name: "410 after an event", err: refusals[0].err, events: 1, after: time.Hour},
	{name: "410 after 10 s", err: refusals[0].err, after: 10 * time.Second},
	{name: "500 after 5 s", err: refusals[13].err, after: 5 * time.Second},
	{name: "idle", silent: true},
	{name: "bookmarks without a version", lead: bookmarks("", "0")},
	{name: "bookmarks of the past", lead: bookmarks("1", "999", "1000")},
	{name: "bookmarks that are no numbers", lead: bookmarks("abc", "007", "-1")},
	{name: "an event that cannot be read", lead: []source.Event[*object]{
		{Type: relistobject.Modified, Err: &source.ObjectError{Err: errors.New("no JSON")}},
	}},
	{name: "the last three events again", replays: 3},
	{name: "everything again", replays: 1 << 32},
	{name: "initial events without an end", unending: true},
	{name: "initial events that end with any bookmark", unmarked: true},
	{name: "initial events that end without a version", anonymous: true},
}

func bookmarks(versions ...string) (events []source.Event[*object]) {
	for _, v := range versions {
		events = append(events, source.Event[*object]{Type: relistobject.Bookmark, Meta: relistobject.Meta{ResourceVersion: v}})
	}
	return events
}

// plans are all fault shapes of a watch.
var plans = func() (all []plan) {
	for _, r := range refusals {
		all = append(all,
			plan{name: "watch refused: " + r.name, refused: r.err},
			plan{name: "watch broken off: " + r.name, err: r.err},
		)
	}
	for _, p := range watchPlans {
		p.name = "watch: " + p.name
		all = append(all, p)
	}
	return all
}()

// answer is how a list comes. The zero value is a good one.
type answer struct {
	name    string
	refused error

	silent    bool // nothing ever comes
	anonymous bool // there is no version
	stale     bool // of a replica that is older than what was asked for
	lagging   bool // of a replica that is as old as may be
	slow      bool // so late that its version is gone when it comes
	pages     bool // in pages of one object, asked for or not
	empty     bool // with an empty page before each
	expires   bool // the continue token has expired
	repeats   bool // the continue token comes back
}

// answers are all fault shapes of a list.
var answers = func() (all []answer) {
	for _, r := range refusals {
		all = append(all, answer{name: "list refused: " + r.name, refused: r.err})
	}
	return append(all,
		answer{name: "list: idle", silent: true},
		answer{name: "list: without a version", anonymous: true},
		answer{name: "list: older than asked for", stale: true},
		answer{name: "list: as old as may be", lagging: true},
		answer{name: "list: outlasts the window", slow: true},
		answer{name: "list: pages nobody asked for", pages: true},
		answer{name: "list: empty pages", pages: true, empty: true},
		answer{name: "list: continue token expires", pages: true, expires: true},
		answer{name: "list: continue token repeats", pages: true, repeats: true},
	)
}()
