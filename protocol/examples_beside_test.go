package protocol

import (
	"github.com/relist-go/relist/object"
)

// besideSections are what continues beside an open watch.
var besideSections = []section{
	{
		title: "an object in quarantine", anchor: "q",
		text:  "An event of `b` at 105 could not be decoded; the sink holds `b` at 95. Objects that the sink refused, that an out-of-order event concerned, or that a verification found different are quarantined, too.",
		start: quarantined,
		examples: []example{
			{"time to refetch it", "refetch", nil, timeIsUp},
			{"time to refetch it, from a server that ignores field selectors", "", func(s *stage) { s.m.quarantine.noRefetchUntil = s.at.Add(noRefetchFor) }, func(s *stage) {
				s.at = s.m.quarantine.soonest
				s.step(Tick{Main: s.at})
			}},
			{"time to refetch it, after six lists or refetches within a few seconds", "", func(s *stage) { s.m.backoff.listsFullAt = s.at.Add(7 * refill) }, func(s *stage) {
				s.at = s.m.quarantine.soonest
				s.step(Tick{Main: s.at})
			}},
			{"MODIFIED of `b` at 106", "events", nil, in(event(object.Modified, good("b", "106", "95")))},
			{"DELETED of `b` at 106", "events", nil, in(event(object.Deleted, good("b", "106", "95")))},
			{"DELETED of `b` at 106, and the sink lacks `b`", "events", nil, in(event(object.Deleted, bad("b", "106", "")))},
			{"MODIFIED of `b` at 106 that cannot be decoded either", "events", nil, in(event(object.Modified, bad("b", "106", "95")))},
			{"MODIFIED of `c` that cannot be decoded, and 1,000 keys are in quarantine", "events", manyBad(999), in(event(object.Modified, bad("c", "107", "95")))},
			{"the watch ends", "watch ends", nil, in(Ended{failed(Closed, 0)})},
			{"a list at 120 in which `b` can be decoded", "list comes", both(in(Ended{failed(Expired, 410)}), timeIsUp), listCame("120", good("b", "107", "95"))},
			{"a list at 120 in which `b` is still at 105 and bad", "list comes", both(in(Ended{failed(Expired, 410)}), timeIsUp), listCame("120", bad("b", "105", "95"))},
		},
	},
	{
		title: "a refetch", anchor: "r",
		text:  "A consistent list of `b` alone was sent. The resume version is 105.",
		start: asked,
		examples: []example{
			{"as of 110, `b` is at 107", "refetch", nil, in(Refetched{Version: "110", Items: []Item{good("b", "107", "95")}})},
			{"as of 110, `b` is at 107, and the sink refuses it", "refetch", nil, refusedBySink(in(Refetched{Version: "110", Items: []Item{good("b", "107", "95")}}))},
			{"as of 110, `b` is at 107 and cannot be decoded", "refetch", nil, in(Refetched{Version: "110", Items: []Item{bad("b", "107", "95")}})},
			{"as of 110, `b` is what the sink holds", "refetch", nil, in(Refetched{Version: "110", Items: []Item{good("b", "107", "107")}})},
			{"as of 110, `b` is older than in the sink", "rolled back", nil, in(Refetched{Version: "110", Items: []Item{good("b", "90", "95")}})},
			{"as of 110, `b` is absent", "refetch", nil, in(Refetched{Version: "110", Held: object.Meta{Key: "b", ResourceVersion: "95"}, IsHeld: true})},
			{"as of 110, `b` is absent, and the sink lacks `b`", "refetch", nil, in(Refetched{Version: "110"})},
			{"as of 104, `b` is at 103", "refetch", nil, in(Refetched{Version: "104", Items: []Item{good("b", "103", "95")}})},
			{"as of 104, `b` is at 103, for the third time", "refetch", func(s *stage) { s.m.quarantine.entries["b"].answersUnused = 2 }, in(Refetched{Version: "104", Items: []Item{good("b", "103", "95")}})},
			{"as of 110, `b` is absent, and the sink is no `Holder`", "refetch", func(s *stage) { s.m.rules.SinkTells = false }, in(Refetched{Version: "110"})},
			{"an answer, but an event of `b` came first", "refetch", in(event(object.Modified, bad("b", "106", "95"))), in(Refetched{Version: "110", Items: []Item{good("b", "107", "95")}})},
			{"another object, more than one object, or no version", "refetch", nil, in(Refetched{Version: "110", Items: []Item{good("c", "107", "")}})},
			{"400", "refetch", nil, in(Refetched{Failure: failed(Failed, 400)})},
			{"any other failure", "refetch", nil, in(Refetched{Failure: failed(Unavailable, 503)})},
			{"nothing comes for 2 minutes", "refetch", nil, func(s *stage) {
				s.at = s.m.refetches.open.heard.Add(s.m.rules.ResponseIdleTimeout)
				s.step(Tick{Main: s.at})
			}},
			{"the watch ends", "watch ends", nil, in(Ended{failed(Closed, 0)})},
			{"the program calls Relist", "Relist called", nil, in(ListWanted{1})},
		},
	},
	{
		title: "a refetch version", anchor: "v",
		text:  "A refetch returned `b` as of 110. The resume version is 105.",
		start: refetchedAt110,
		examples: []example{
			{"MODIFIED or DELETED of `b` at 107, even if it cannot be decoded", "events", nil, in(event(object.Deleted, bad("b", "107", "107")))},
			{"MODIFIED of `b` at 111", "events", nil, in(event(object.Modified, good("b", "111", "107")))},
			{"MODIFIED of `c` at 107", "events", nil, in(event(object.Modified, good("c", "107", "95")))},
			{"BOOKMARK at 110", "events", nil, in(markAt("110"))},
			{"410, then time to list", "time to list", in(Ended{failed(Expired, 410)}), timeIsUp},
		},
	},
	{
		title: "a history check", anchor: "h",
		text:  "The watch at 102 ended with 503, and a new one is open at 102. Another server may answer it, so the machine lists the newest object it knows, `b` at 101, exactly at 102.",
		start: unverifiedAt101,
		examples: []example{
			{"time to check", "history check", nil, timeIsUp},
			{"`b` is at 101", "history check", timeIsUp, in(Refetched{Version: "102", Items: []Item{good("b", "101", "101")}})},
			{"an answer as of 110", "history check", timeIsUp, in(Refetched{Version: "110", Items: []Item{good("b", "97", "101")}})},
			{"another object, or more than one", "history check", timeIsUp, in(Refetched{Version: "102", Items: []Item{good("c", "97", "")}})},
			{"410", "history check", timeIsUp, in(Refetched{Failure: failed(Expired, 410)})},
			{"400 or 422", "history check", timeIsUp, in(Refetched{Failure: failed(Failed, 422)})},
			{"`b` is at 97", "rolled back", timeIsUp, in(Refetched{Version: "102", Items: []Item{good("b", "97", "101")}})},
			{"`b` is absent", "rolled back", timeIsUp, in(Refetched{Version: "102"})},
			{"504: the server has not reached 102", "rolled back", timeIsUp, in(Refetched{Failure: failed(TooLarge, 504)})},
			{"an answer as of 90, for the second time, 5 s later", "rolled back", both(timeIsUp, in(Refetched{Version: "90"}), timeIsUp), in(Refetched{Version: "90"})},
			{"any other failure", "history check", timeIsUp, in(Refetched{Failure: failed(Unavailable, 503)})},
			{"an answer as of 90", "history check", timeIsUp, in(Refetched{Version: "90", Items: []Item{good("b", "87", "101")}})},
			{"the watch ends", "ends within 10s", nil, in(Ended{failed(ConnectionLost, 0)})},
		},
	},
	{
		title: "a watch that has to repeat events", anchor: "p",
		text:  "The watch ended with 503 after an event of `b` at 101 and the deletion of `c` at 102. A new one is open at 100, and has to repeat both.",
		start: repeatingTwo,
		examples: []example{
			{"MODIFIED of `b` at 101", "events", nil, in(event(object.Modified, good("b", "101", "101")))},
			{"MODIFIED of `b` at 101, then DELETED of `c` at 102", "events", in(event(object.Modified, good("b", "101", "101"))), in(event(object.Deleted, good("c", "102", "")))},
			{"MODIFIED of `b` at 103", "repeat differs", nil, in(event(object.Modified, good("b", "103", "101")))},
			{"MODIFIED of `a` at 101", "repeat differs", nil, in(event(object.Modified, good("a", "101", "90")))},
			{"BOOKMARK at 102", "repeat differs", nil, in(markAt("102"))},
			{"MODIFIED of `a` at 100", "events", nil, in(event(object.Modified, good("a", "100", "100")))},
			{"nothing comes", "history check", nil, timeIsUp},
			{"410", "watch ends", nil, in(Ended{failed(Expired, 410)})},
			{"any other end of the watch", "ends within 10s", nil, in(Ended{failed(ConnectionLost, 0)})},
		},
	},
	{
		title: "a history check after a list", anchor: "a",
		text:  "The server had another history. Since then, a list at 90 has brought the object `a`, whose version is 80. A watch is open.",
		start: relistedAt90,
		examples: []example{
			{"time to check", "history check", nil, timeIsUp},
			{"`a` is at 80", "history check", timeIsUp, in(Refetched{Version: "90", Items: []Item{good("a", "80", "80")}})},
			{"`a` is at 70", "history check", timeIsUp, in(Refetched{Version: "90", Items: []Item{good("a", "70", "80")}})},
		},
	},
	{
		title: "a history check for a saved copy", anchor: "c",
		text:  "The program has just loaded a copy that was saved at 100. Its only object is `a`, at version 90. The server has accepted the watch, and the list of `a` was sent.",
		start: savedAndAsked,
		examples: []example{
			{"`a` is at 90", "", nil, in(Refetched{Version: "100", Items: []Item{good("a", "90", "90")}})},
			{"`a` is at 89", "", nil, in(Refetched{Version: "100", Items: []Item{good("a", "89", "90")}})},
			{"`a` is absent", "", nil, in(Refetched{Version: "100"})},
			{"504: the server has not reached 100", "", nil, in(Refetched{Failure: failed(TooLarge, 504)})},
			{"any other failure", "", nil, in(Refetched{Failure: failed(Failed, 500)})},
			{"the watch ends with 410", "", nil, in(Ended{failed(Expired, 410)})},
		},
	},
	{
		title: "a list for repair", anchor: "n",
		text:  "An event had no readable name, so its object is unknown. The resume version is 105.",
		start: nameless,
		examples: []example{
			{"time to list", "time to repair", nil, timeIsUp},
			{"another event without a readable name", "events", nil, in(event(object.Modified, bad("", "106", "")))},
			{"MODIFIED of `a` at 106", "events", nil, in(event(object.Modified, good("a", "106", "90")))},
			{"the list comes", "list comes", timeIsUp, listCame("120")},
			{"the list comes, with an object without a readable name", "list comes", timeIsUp, listCame("120", bad("", "", ""))},
			{"the list fails", "failure", timeIsUp, in(Listed{Failure: failed(Unavailable, 503)})},
		},
	},
	{
		title: "a verification", anchor: "d",
		text:  "The resume version is 101, and a list of metadata at 101 was sent, except in the first row.",
		start: verifying,
		examples: []example{
			{"time to verify", "verification", func(s *stage) { s.settled(); s.step(markAt("101")) }, timeIsUp},
			{"it comes at 101", "verification", nil, in(MetadataListed{Version: "101"})},
			{"it comes at 103", "", nil, in(MetadataListed{Version: "103"})},
			{"it comes at 103, then a BOOKMARK at 103", "verification", in(MetadataListed{Version: "103"}), in(markAt("103"))},
			{"it fails", "verification", nil, in(MetadataListed{Failure: failed(Denied, 403)})},
			{"nothing comes for 2 minutes", "verification", nil, func(s *stage) {
				s.at = s.m.verify.heard.Add(s.m.rules.ResponseIdleTimeout)
				s.step(Tick{Main: s.at})
			}},
			{"nothing differs", "verification", in(MetadataListed{Version: "101"}), in(Compared{Differences: Differences{Objects: 7}})},
			{"`b` differs", "verification", in(MetadataListed{Version: "101"}), in(Compared{Differences: Differences{Objects: 7, Count: 1, Keys: []Item{{Meta: object.Meta{Key: "b", ResourceVersion: "98"}, Err: errDiffers}}}})},
			{"101 objects differ", "much drift", in(MetadataListed{Version: "101"}), in(Compared{Differences: Differences{Objects: 200, Count: 101}})},
			{"the watch ends", "watch ends", nil, in(Ended{failed(Closed, 0)})},
		},
	},
}
