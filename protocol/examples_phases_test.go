package protocol

import (
	"time"

	"github.com/relist-go/relist/object"
)

// phaseSections are what happens in each phase.
var phaseSections = []section{
	{
		title: "waiting", anchor: "w",
		text:  "The watch at 100 ended with 410, so a list follows, except in the rows that name a watch.",
		start: toListAt100,
		examples: []example{
			{"time for the first list", "time to list", fresh, timeIsUp},
			{"time for the first list, with `Consistent`", "time to list", both(fresh, func(s *stage) { s.m.rules.Initial = Consistent }), timeIsUp},
			{"time for the first list, with `Streaming`", "time to stream", both(fresh, initialEvents), timeIsUp},
			{"time to list", "time to list", nil, timeIsUp},
			{"time to list, with `Streaming`, less than an hour after initial events failed", "time to list", func(s *stage) { initialEvents(s); s.m.lists.listsUntil = s.at.Add(time.Minute) }, timeIsUp},
			{"time to list, with `Streaming`", "time to stream", initialEvents, timeIsUp},
			{"time to list, less than an hour after two lists that took longer than the server's window", "time to stream", func(s *stage) { s.m.lists.initialEventsUntil = s.at.Add(time.Minute) }, timeIsUp},
			{"time to list, after a list at 100 that brought no later version", "time to list", both(listingAt100, listCame("100"), in(Ended{failed(Expired, 410)})), timeIsUp},
			{"time to watch, but a list is due because a change could not be read", "time to list", both(toWatchAt100, func(s *stage) { s.m.quarantine.repair.at = s.at }), timeIsUp},
			{"time to list, after a refetch whose answer was as of 110", "time to list", func(s *stage) { s.m.quarantine.versions = refetchVersions{"b": "110"} }, timeIsUp},
			{"time to list, from a server that pages every list", "time to list", func(s *stage) { s.m.lists.paged = true }, timeIsUp},
			{"time to list, from a server that rolled back", "time to list", func(s *stage) { s.m.mostRecentNext, s.m.distrusted = true, true }, timeIsUp},
			{"time to list, after six lists or refetches within a few seconds", "rate limit", func(s *stage) { s.m.backoff.listsFullAt = s.at.Add(7 * refill) }, timeIsUp},
			{"time to watch", "time to watch", toWatchAt100, timeIsUp},
			{"time to watch, after six watches within a few seconds", "rate limit", both(toWatchAt100, func(s *stage) { s.m.backoff.watchesFullAt = s.at.Add(7 * refill) }), timeIsUp},
			{"the first input: a copy saved at 100 is loaded", "", fresh, in(ResumeSaved{savedAt100})},
			{"the first input: a copy saved at 100 is loaded, and `b` in it may be stale", "", fresh, in(ResumeSaved{Point{Version: "100", Unsure: []string{"b"}, Newest: savedAt100.Newest}})},
			{"the program calls Relist", "Relist called", nil, in(ListWanted{1})},
			{"a resync is due", "resync", func(s *stage) { s.m.rules.Resync = time.Hour; s.m.resyncAt = s.at }, in(Tick{})},
			{"a resync is due, and the sink refuses it", "resync", func(s *stage) { s.m.rules.Resync = time.Hour; s.m.resyncAt = s.at }, refusedBySink(in(Tick{}))},
			{"an answer to a canceled request", "", nil, in(Listed{Sum: Sum{Version: "120"}})},
			{"Run ends", "", nil, in(Stopped{})},
		},
	},
	{
		title: "listing", anchor: "l",
		text: "A list at 100 was sent. The machine sees whole lists: listwatch/source/pager.go fetches the pages. If a continue token expires (410), or its version is " +
			"too large, the pager drops the pages and immediately asks for the whole list in one page, at the version that the request for the first page had. " +
			"If that fails, too, the machine gets the failure.",
		start: listingAt100,
		examples: []example{
			{"a list at 120 comes", "list comes", nil, listCame("120", good("a", "119", ""))},
			{"a first list at 120 comes", "list comes", both(fresh, timeIsUp), listCame("120", good("a", "119", ""))},
			{"a first list at 120 comes in pages", "list comes", both(fresh, timeIsUp), inOf(func(s *stage) Input {
				sum := s.sum("120")
				sum.Pages = 2
				return Listed{Sum: sum}
			})},
			{"a first list with no decodable object", "failure", both(fresh, timeIsUp), listCame("120", bad("a", "119", ""))},
			{"a first list with no decodable object, but `TypeFits` says that the type is right", "list comes", both(fresh, typeFits, timeIsUp), listCame("120", bad("a", "119", ""))},
			{"a list in which `b` cannot be decoded", "list comes", nil, listCame("120", good("a", "119", ""), bad("b", "95", ""))},
			{"a list with an object without a readable name", "list comes", nil, listCame("120", good("a", "119", ""), bad("", "", ""))},
			{"a list at 99", "older state", nil, listCame("99")},
			{"a reusing list with an object at 95 that the sink holds at 96", "older state", nil, inOf(func(s *stage) Input {
				fold := s.m.Fold(true)
				fold.Item(good("a", "95", "96"))
				return Listed{Sum: fold.Sum("120", 1, true)}
			})},
			{"a consistent list at 99", "list comes", mostRecentAsked, listCame("99")},
			{"a list without a resourceVersion", "list comes", nil, listCame("")},
			{"the program calls Relist", "", nil, in(ListWanted{1})},
			{"a list at 120 comes, after a call of Relist", "Relist called", in(ListWanted{1}), listCame("120")},
			{"a list at 120 comes after six watches within a few seconds", "rate limit", func(s *stage) { s.m.backoff.watchesFullAt = s.at.Add(7 * refill) }, listCame("120")},
			{"the sink refuses the list", "sink refuses", nil, refusedBySink(listCame("120"))},
			{"the sink refuses the list, after a call of Relist", "sink refuses", in(ListWanted{1}), refusedBySink(listCame("120"))},
			{"410", "410, too large", nil, in(Listed{Failure: failed(Expired, 410)})},
			{"410 to a consistent list", "failure", mostRecentAsked, in(Listed{Failure: failed(Expired, 410)})},
			{"504 Too large resource version, whatever its Retry-After", "410, too large", nil, in(Listed{Failure: retryAfter(failed(TooLarge, 504), time.Second)})},
			{"429 with Retry-After: 7", "failure", nil, in(Listed{Failure: retryAfter(failed(Throttled, 429), 7*time.Second)})},
			{"502, 503 or 504", "failure", nil, in(Listed{Failure: failed(Unavailable, 503)})},
			{"500", "failure", nil, in(Listed{Failure: failed(Failed, 500)})},
			{"400 or another refusal of the request, for the third time", "failure", failedTwice, in(Listed{Failure: failed(Failed, 400)})},
			{"401 or 403", "failure", nil, in(Listed{Failure: failed(Denied, 403)})},
			{"404", "failure", nil, in(Listed{Failure: failed(NotFound, 404)})},
			{"an answer that is not a list, such as a login page", "failure", nil, in(Listed{Failure: failed(Malformed, 0)})},
			{"no connection", "failure", nil, in(Listed{Failure: failed(Unreachable, 0)})},
			{"no connection, for the third time", "failure", func(s *stage) { s.m.backoff.unreachableStep = 2 }, in(Listed{Failure: failed(Unreachable, 0)})},
			{"the connection breaks, in the middle of the list or before it", "failure", nil, in(Listed{Failure: failed(ConnectionLost, 0)})},
			{"nothing comes for 2 minutes", "failure", nil, timeIsUp},
			{"Run ends", "", nil, in(Stopped{})},
		},
	},
	{
		title: "streaming", anchor: "s",
		text: "The server has accepted a watch with initial events, not older than 100. " +
			"The BOOKMARK that ends the initial events has the annotation `k8s.io/initial-events-end: \"true\"`.",
		start: streamingAt100,
		examples: []example{
			{"ADDED, MODIFIED or DELETED", "events", nil, in(event(object.Added, good("a", "90", "")))},
			{"BOOKMARK at 110", "events", nil, in(markAt("110"))},
			{"the BOOKMARK at 120 that ends the initial events", "state complete", nil, ends("120")},
			{"the BOOKMARK at 120 that ends the initial events, after a call of Relist", "Relist called", in(ListWanted{1}), ends("120")},
			{"the BOOKMARK at 120 that ends the initial events, and the sink refuses the state", "sink refuses", nil, refusedBySink(ends("120"))},
			{"a BOOKMARK at 99 that ends the initial events", "older state", nil, ends("99")},
			{"a BOOKMARK without a resourceVersion that ends the initial events", "no initial events", nil, ends("")},
			{"the program calls Relist", "", nil, in(ListWanted{1})},
			{"the stream ends earlier", "failure", nil, in(Ended{failed(ConnectionLost, 0)})},
			{"the stream ends earlier, for the second time", "no initial events", func(s *stage) { s.m.lists.incompleteStreams = 1 }, in(Ended{failed(ConnectionLost, 0)})},
			{"nothing comes for 30 s", "no initial events", nil, timeIsUp},
			{"30 s after the first event that is no ADDED", "no initial events", func(s *stage) {
				s.step(event(object.Modified, good("a", "101", "")))
				s.at = s.at.Add(20 * time.Second)
				s.step(event(object.Added, good("c", "99", "")))
			}, timeIsUp},
			{"410, or Too large resource version", "410, too large", nil, in(Ended{failed(Expired, 410)})},
			{"410, or Too large resource version, to a consistent request", "failure", in(Ended{failed(Expired, 410)}), in(Ended{failed(Expired, 410)})},
			{"422, or another 4xx", "no initial events", nil, in(Ended{failed(Failed, 422)})},
			{"422, and the sink is empty", "no initial events", streamingFirst, in(Ended{failed(Failed, 422)})},
			{"429", "failure", nil, in(Ended{failed(Throttled, 429)})},
			{"401 or 403", "failure", nil, in(Ended{failed(Denied, 403)})},
			{"404", "failure", nil, in(Ended{failed(NotFound, 404)})},
			{"no connection", "failure", nil, in(Ended{failed(Unreachable, 0)})},
			{"Run ends", "", nil, in(Stopped{})},
		},
	},
	{
		title: "watching, before the server has answered", anchor: "o",
		text:  "A watch from 100 was sent.",
		start: openingAt100,
		examples: []example{
			{"it is accepted", "accepted", nil, in(Opened{})},
			{"it is accepted, and the list's connection was closed", "accepted", nil, in(Opened{Reconnected: true})},
			{"410", "410 or failure", nil, in(Ended{failed(Expired, 410)})},
			{"410, after a list that took a second or more", "410 or failure", both(listingAt100, func(s *stage) { s.at = s.at.Add(time.Second) }, listCame("120")), in(Ended{failed(Expired, 410)})},
			{"410, after a list that took a second or more, for the second time", "410 or failure", both(listingAt100, func(s *stage) { s.at = s.at.Add(time.Second) }, listCame("120"), func(s *stage) { s.m.lists.listsOutrunByWindow = 1 }), in(Ended{failed(Expired, 410)})},
			{"504 Too large resource version", "410 or failure", nil, in(Ended{failed(TooLarge, 504)})},
			{"429 with Retry-After: 7", "410 or failure", nil, in(Ended{retryAfter(failed(Throttled, 429), 7*time.Second)})},
			{"no connection", "410 or failure", nil, in(Ended{failed(Unreachable, 0)})},
			{"the connection breaks", "410 or failure", nil, in(Ended{failed(ConnectionLost, 0)})},
			{"502, 503 or 504", "410 or failure", nil, in(Ended{failed(Unavailable, 503)})},
			{"500", "410 or failure", nil, in(Ended{failed(Failed, 500)})},
			{"500, for the third time in a row", "410 or failure", failedTwice, in(Ended{failed(Failed, 500)})},
			{"401 or 403", "410 or failure", nil, in(Ended{failed(Denied, 403)})},
			{"404", "410 or failure", nil, in(Ended{failed(NotFound, 404)})},
			{"an answer that is not a watch, such as a login page", "410 or failure", nil, in(Ended{failed(Malformed, 0)})},
			{"the idle timeout", "idle too long", nil, timeIsUp},
			{"the program calls Relist", "Relist called", nil, in(ListWanted{1})},
			{"Run ends", "", nil, in(Stopped{})},
		},
	},
	{
		title: "watching", anchor: "e",
		text:  "The watch from 100 has been open for a minute, with a bookmark every 30 seconds.",
		start: (*stage).settled,
		examples: []example{
			{"ADDED at 101", "events", nil, in(event(object.Added, good("b", "101", "")))},
			{"MODIFIED at 101", "events", nil, in(event(object.Modified, good("a", "101", "90")))},
			{"MODIFIED at 101 with a new UID", "events", nil, in(event(object.Modified, another("a", "101", "90")))},
			{"DELETED at 101", "events", nil, in(event(object.Deleted, good("a", "101", "90")))},
			{"DELETED at 101 with nothing but a readable name", "events", nil, in(event(object.Deleted, bad("a", "101", "90")))},
			{"DELETED at 101 with nothing but a readable name, and the sink is no `Holder`", "events", func(s *stage) { s.m.rules.SinkTells = false }, in(event(object.Deleted, bad("a", "101", "")))},
			{"MODIFIED at 101 that cannot be decoded", "events", nil, in(event(object.Modified, bad("a", "101", "90")))},
			{"any event of another kind, even DELETED (a proxy has mixed up two streams)", "events", nil, in(event(object.Modified, bad("a", "101", "90")))},
			{"any event without a readable name", "events", nil, in(event(object.Modified, bad("", "101", "")))},
			{"MODIFIED at 101 that the sink refuses", "events", nil, refusedBySink(in(event(object.Modified, good("a", "101", "90"))))},
			{"MODIFIED at 101 of the 101st object that the sink refuses", "sink refuses", refuse100, refusedBySink(in(event(object.Modified, good("a", "201", "90"))))},
			{"MODIFIED at 99, held at 90", "events", nil, in(event(object.Modified, good("a", "99", "90")))},
			{"MODIFIED without a resourceVersion", "events", nil, in(event(object.Modified, good("a", "", "90")))},
			{"ADDED at 99, not held", "events", nil, in(event(object.Added, good("b", "99", "")))},
			{"BOOKMARK at 150", "events", nil, in(markAt("150"))},
			{"MODIFIED at 99, held at 99 or later", "events", nil, in(event(object.Modified, good("a", "99", "99")))},
			{"DELETED at 99, not held", "events", nil, in(event(object.Deleted, good("b", "99", "")))},
			{"BOOKMARK at 99", "events", nil, in(markAt("99"))},
			{"BOOKMARK without a resourceVersion", "events", nil, in(markAt(""))},
			{"a clean close at the timeout of the watch", "watch ends", untilTimeout, in(Ended{failed(Closed, 0)})},
			{"a close or cut before the timeout, after 10 s or more", "watch ends", nil, in(Ended{failed(ConnectionLost, 0)})},
			{"a close or cut within 10 s, with events", "watch ends", both(briefly, in(event(object.Modified, good("a", "101", "90")))), in(Ended{failed(Closed, 0)})},
			{"a close or cut within 10 s, with events, for the second time", "ends within 10s", both(briefly, in(event(object.Modified, good("a", "101", "90"))), func(s *stage) { s.m.backoff.reopenedAtOnce = true }), in(Ended{failed(Closed, 0)})},
			{"a close or cut within 10 s, without events", "ends within 10s", briefly, in(Ended{failed(Closed, 0)})},
			{"a close or cut within 1 s, without events, for the second time", "ends within 10s", both(briefly, func(s *stage) { s.m.backoff.emptyWatches = 1 }), in(Ended{failed(Closed, 0)})},
			{"a watch without a resourceVersion ends", "410 or error", noVersion, in(Ended{failed(Closed, 0)})},
			{"410", "410 or error", nil, in(Ended{failed(Expired, 410)})},
			{"another ERROR event", "410 or error", nil, in(Ended{failed(Failed, 500)})},
			{"a line that is not an event", "410 or error", nil, in(Ended{failed(Malformed, 0)})},
			{"the idle timeout", "idle too long", nil, timeIsUp},
			{"10 s after the timeout of the watch", "idle too long", func(s *stage) {
				untilTimeout(s)
				s.at = s.m.phase.(*watching).deadline
			}, func(s *stage) { s.step(Tick{Main: s.at}) }},
			{"the watch ends, after six watches within a few seconds", "rate limit", func(s *stage) { s.m.backoff.watchesFullAt = s.at.Add(7 * refill) }, in(Ended{failed(Closed, 0)})},
			{"the program calls Relist", "Relist called", nil, in(ListWanted{1})},
			{"the program calls Relist, after six lists within a few seconds", "", func(s *stage) { s.m.backoff.listsFullAt = s.at.Add(5 * refill) }, in(ListWanted{1})},
			{"the sink refuses a resync", "sink refuses", func(s *stage) { s.m.rules.Resync = time.Hour; s.m.resyncAt = s.at }, refusedBySink(in(Tick{}))},
			{"Run ends", "", nil, in(Stopped{})},
		},
	},
}

// savedAt100 is a copy whose newest object is a, at 90.
var savedAt100 = Point{Version: "100", Newest: []Newest{{Meta: good("a", "90", "").Meta}}}

func mostRecentAsked(s *stage) { s.step(Listed{Failure: failed(Expired, 410)}) }
func failedTwice(s *stage)     { s.m.backoff.failures, s.m.backoff.answeredStep = 2, 2 }

func ends(version string) func(*stage) {
	return inOf(func(s *stage) Input { return s.endsInitial(version, good("a", "90", "")) })
}

// another is an object that is held with another UID.
func another(key, version, held string) Item {
	item := good(key, version, held)
	item.Held.UID = "another"
	return item
}

// streamingFirst is the first request of all, for initial events, which the server has not
// answered.
func streamingFirst(s *stage) {
	s.m.rules.Initial = Streaming
	fresh(s)
	s.tick()
}

// untilTimeout lets time pass until the timeout of the watch, and bytes come all the while.
func untilTimeout(s *stage) {
	p := s.m.phase.(*watching)
	for end := s.at.Add(p.timeout - p.alive(s.at)); s.at.Before(end); {
		s.at = s.at.Add(min(20*time.Second, end.Sub(s.at)))
		s.step(Tick{Main: s.at})
	}
}

// briefly is a watch at 100 that was opened just now.
func briefly(s *stage) {
	openingAt100(s)
	s.step(Opened{})
}

func noVersion(s *stage) {
	listingAt100(s)
	listCame("")(s)
	s.step(Opened{})
}

func refuse100(s *stage) {
	for i := range 100 {
		s.full = errBadField
		s.step(event(object.Added, good("k"+string(rune('A'+i/26))+string(rune('a'+i%26)), "101", "")))
	}
}
