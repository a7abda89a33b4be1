package protocol

import (
	"github.com/relist-go/relist/object"
)

// besideSections are what continues beside an open watch.
var besideSections = []section{
	{
		title: "an object in quarantine",
		text:  "An event of b at 105 could not be decoded; the sink holds b at 95. So is every object that the sink refused, that a late event was about, or that a verification found to differ.",
		start: quarantined,
		examples: []example{
			{"time to refetch it", "asks", nil, timeIsUp},
			{"time to refetch it, and the server cannot be asked", "", func(s *stage) { s.m.noRefetchUntil = s.at.Add(noRefetchFor) }, func(s *stage) {
				s.at = s.m.quarantine.soonest
				s.step(Tick{Main: s.at})
			}},
			{"time to refetch it, after six lists or refetches in short order", "", func(s *stage) { s.m.backoff.listsFullAt = s.at.Add(7 * refill) }, func(s *stage) {
				s.at = s.m.quarantine.soonest
				s.step(Tick{Main: s.at})
			}},
			{"MODIFIED of b at 106", "events", nil, in(event(Modified, good("b", "106", "95")))},
			{"DELETED of b at 106", "events", nil, in(event(Deleted, good("b", "106", "95")))},
			{"DELETED of b at 106, which is not held", "events", nil, in(event(Deleted, bad("b", "106", "")))},
			{"MODIFIED of b at 106 that cannot be decoded either", "events", nil, in(event(Modified, bad("b", "106", "95")))},
			{"MODIFIED of c that cannot be decoded, and 1,000 are in quarantine", "events", manyBad(999), in(event(Modified, bad("c", "107", "95")))},
			{"the watch ends", "ended, idleTimeout", nil, in(Ended{failed(Closed, 0)})},
			{"a list at 120 comes, in which b is good", "list came", both(in(Ended{failed(Expired, 410)}), timeIsUp), listCame("120", good("b", "107", "95"))},
			{"a list at 120 comes, in which b is still bad at 105", "list came", both(in(Ended{failed(Expired, 410)}), timeIsUp), listCame("120", bad("b", "105", "95"))},
		},
	},
	{
		title: "a refetch",
		text:  "The server was asked for b: for a list of it alone, in its most recent state. The resume version is 105.",
		start: asked,
		examples: []example{
			{"as of 110, b is at 107", "answers", nil, in(Refetched{Version: "110", Items: []Item{good("b", "107", "95")}})},
			{"as of 110, b is at 107, and the sink refuses it", "answers", nil, refusedBySink(in(Refetched{Version: "110", Items: []Item{good("b", "107", "95")}}))},
			{"as of 110, b is at 107 and cannot be decoded", "answers", nil, in(Refetched{Version: "110", Items: []Item{bad("b", "107", "95")}})},
			{"as of 110, b is as it is held", "answers", nil, in(Refetched{Version: "110", Items: []Item{good("b", "107", "107")}})},
			{"as of 110, b is older than it is held", "rolled back", nil, in(Refetched{Version: "110", Items: []Item{good("b", "90", "95")}})},
			{"as of 110, there is no b", "answers", nil, in(Refetched{Version: "110", Held: object.Meta{Key: "b", ResourceVersion: "95"}, IsHeld: true})},
			{"as of 110, there is no b, and b is not held", "answers", nil, in(Refetched{Version: "110"})},
			{"as of 110, there is no b, and the sink does not tell what it holds", "answers", func(s *stage) { s.m.rules.SinkTells = false }, in(Refetched{Version: "110"})},
			{"as of 104, b is at 103", "answers", nil, in(Refetched{Version: "104", Items: []Item{good("b", "103", "95")}})},
			{"as of 104, b is at 103, for the third time", "answers", func(s *stage) { s.m.quarantine.entries["b"].answersUnused = 2 }, in(Refetched{Version: "104", Items: []Item{good("b", "103", "95")}})},
			{"an event of b has come since", "answers", in(event(Modified, bad("b", "106", "95"))), in(Refetched{Version: "110", Items: []Item{good("b", "107", "95")}})},
			{"another object, more than one, or no version", "answers", nil, in(Refetched{Version: "110", Items: []Item{good("c", "107", "")}})},
			{"400", "answers", nil, in(Refetched{Failure: failed(Failed, 400)})},
			{"any other failure", "answers", nil, in(Refetched{Failure: failed(Unavailable, 503)})},
			{"nothing comes for 2 minutes", "answers", nil, func(s *stage) {
				s.at = s.m.refetch.heard.Add(s.m.rules.ResponseIdleTimeout)
				s.step(Tick{Main: s.at})
			}},
			{"the watch ends", "ended, idleTimeout", nil, in(Ended{failed(Closed, 0)})},
			{"a list is asked for", "Relist", nil, in(ListWanted{1})},
		},
	},
	{
		title: "a refetch version",
		text:  "An answer has told b as of 110. The resume version is 105.",
		start: fencedAt110,
		examples: []example{
			{"MODIFIED or DELETED of b at 107, whether or not it can be decoded", "events", nil, in(event(Deleted, bad("b", "107", "107")))},
			{"MODIFIED of b at 111", "events", nil, in(event(Modified, good("b", "111", "107")))},
			{"MODIFIED of c at 107", "events", nil, in(event(Modified, good("c", "107", "95")))},
			{"BOOKMARK at 110", "events", nil, in(markAt("110"))},
			{"410, and then a list", "time to list", in(Ended{failed(Expired, 410)}), timeIsUp},
		},
	},
	{
		title: "a question of the history check",
		text:  "The watch has ended with 503, and another is open at 102. Another server may stand behind it, so the newest object that is known, b at 101, is asked for exactly at 102.",
		start: unverifiedAt101,
		examples: []example{
			{"time to refetch", "checks", nil, timeIsUp},
			{"b is at 101", "checked", timeIsUp, in(Refetched{Version: "102", Items: []Item{good("b", "101", "101")}})},
			{"b is at 97", "rolled back", timeIsUp, in(Refetched{Version: "102", Items: []Item{good("b", "97", "101")}})},
			{"there is no b", "rolled back", timeIsUp, in(Refetched{Version: "102"})},
			{"504: the server has not come to 102", "rolled back", timeIsUp, in(Refetched{Failure: failed(TooLarge, 504)})},
			{"410", "checked", timeIsUp, in(Refetched{Failure: failed(Expired, 410)})},
			{"400 or 422", "checked", timeIsUp, in(Refetched{Failure: failed(Failed, 422)})},
			{"any other failure", "checked", timeIsUp, in(Refetched{Failure: failed(Unavailable, 503)})},
			{"a list as of 110", "checked", timeIsUp, in(Refetched{Version: "110", Items: []Item{good("b", "97", "101")}})},
			{"a list as of 90", "checked", timeIsUp, in(Refetched{Version: "90", Items: []Item{good("b", "87", "101")}})},
			{"a list as of 90, for the second time, five seconds later", "rolled back", both(timeIsUp, in(Refetched{Version: "90"}), timeIsUp), in(Refetched{Version: "90"})},
			{"another object, or more than one", "checked", timeIsUp, in(Refetched{Version: "102", Items: []Item{good("c", "97", "")}})},
			{"the watch ends", "ended at once", nil, in(Ended{failed(ConnectionLost, 0)})},
		},
	},
	{
		title: "a watch that has to repeat events",
		text:  "The watch has ended with 503 after an event of b at 101 and the deletion of c at 102. Another is open at 100, and has to repeat both.",
		start: repeatingTwo,
		examples: []example{
			{"MODIFIED of b at 101", "repeated", nil, in(event(Modified, good("b", "101", "101")))},
			{"MODIFIED of b at 101, and then DELETED of c at 102", "repeated", in(event(Modified, good("b", "101", "101"))), in(event(Deleted, good("c", "102", "")))},
			{"MODIFIED of b at 103", "other events", nil, in(event(Modified, good("b", "103", "101")))},
			{"MODIFIED of a at 101", "other events", nil, in(event(Modified, good("a", "101", "90")))},
			{"MODIFIED of a at 100", "events", nil, in(event(Modified, good("a", "100", "100")))},
			{"BOOKMARK at 102", "other events", nil, in(markAt("102"))},
			{"nothing comes", "checks", nil, timeIsUp},
			{"410", "unrepeatable", nil, in(Ended{failed(Expired, 410)})},
			{"the watch ends otherwise", "ended at once", nil, in(Ended{failed(ConnectionLost, 0)})},
		},
	},
	{
		title: "a history check after a list",
		text:  "The server has shown another history, and has listed since: a at 80, as of 90. A watch is open.",
		start: relistedAt90,
		examples: []example{
			{"time to refetch", "checks", nil, timeIsUp},
			{"a is at 80", "checked", timeIsUp, in(Refetched{Version: "90", Items: []Item{good("a", "80", "80")}})},
			{"a is at 70", "storage differs", timeIsUp, in(Refetched{Version: "90", Items: []Item{good("a", "70", "80")}})},
		},
	},
	{
		title: "a history check for a saved copy",
		text:  "The program has just begun, with a copy that was saved at 100 and has nothing but a, at 90. The server has accepted the watch, and a was asked for.",
		start: savedAndAsked,
		examples: []example{
			{"the object is at 90", "", nil, in(Refetched{Version: "100", Items: []Item{good("a", "90", "90")}})},
			{"the object is at 89", "", nil, in(Refetched{Version: "100", Items: []Item{good("a", "89", "90")}})},
			{"the object is absent", "", nil, in(Refetched{Version: "100"})},
			{"504: the server has not come to 100", "", nil, in(Refetched{Failure: failed(TooLarge, 504)})},
			{"the question fails", "", nil, in(Refetched{Failure: failed(Failed, 500)})},
			{"the watch ends with 410", "", nil, in(Ended{failed(Expired, 410)})},
		},
	},
	{
		title: "a list for repair",
		text:  "An event had no readable name.",
		start: nameless,
		examples: []example{
			{"time to list", "repair", nil, timeIsUp},
			{"another such event", "events", nil, in(event(Modified, bad("", "106", "")))},
			{"MODIFIED of a at 106", "events", nil, in(event(Modified, good("a", "106", "90")))},
			{"the list comes", "list came", timeIsUp, listCame("120")},
			{"the list comes, and an object in it has no readable name", "list came", timeIsUp, listCame("120", bad("", "", ""))},
			{"the list fails", "failure", timeIsUp, in(Listed{Failure: failed(Unavailable, 503)})},
		},
	},
	{
		title: "a verification",
		text:  "Metadata at 101 was asked for, if the row does not say otherwise.",
		start: verifying,
		examples: []example{
			{"time to verify", "compares", func(s *stage) { s.settled(); s.step(markAt("101")) }, timeIsUp},
			{"it comes, and the resume version is 101", "compares", nil, in(MetadataListed{Version: "101"})},
			{"it comes at 103, and the resume version is 101", "", nil, in(MetadataListed{Version: "103"})},
			{"it comes at 103, and the resume version is 101; then a BOOKMARK at 103", "compares", in(MetadataListed{Version: "103"}), in(markAt("103"))},
			{"it fails", "compares", nil, in(MetadataListed{Failure: failed(Denied, 403)})},
			{"nothing comes for 2 minutes", "compares", nil, func(s *stage) {
				s.at = s.m.verify.heard.Add(s.m.rules.ResponseIdleTimeout)
				s.step(Tick{Main: s.at})
			}},
			{"nothing differs", "compares", in(MetadataListed{Version: "101"}), in(Compared{Differences: Differences{Objects: 7}})},
			{"b differs", "compares", in(MetadataListed{Version: "101"}), in(Compared{Differences: Differences{Objects: 7, Count: 1, Keys: []Item{{Meta: object.Meta{Key: "b", ResourceVersion: "98"}, Err: errDiffers}}}})},
			{"101 objects differ", "differs", in(MetadataListed{Version: "101"}), in(Compared{Differences: Differences{Objects: 200, Count: 101}})},
			{"the watch ends", "ended, idleTimeout", nil, in(Ended{failed(Closed, 0)})},
		},
	},
}
