package mutants

// mutation is one way to break the library.
type mutation struct {
	// what it does, as it stands in docs/reliability.md.
	what string

	// dir is that of the package, relative to the root of the module.
	dir string

	// edits are in one file, whichever it is.
	edits []edit

	// trace is the one that is about this. Others may fail as well.
	trace string
}

// edit replaces text that is in the package exactly once, tests aside.
type edit struct{ old, by string }

func one(old, by string) []edit { return []edit{{old, by}} }

// mutations are in the order of a conversation: lists, watches, waiting, versions,
// the queue.
var mutations = []mutation{
	{
		what: "keep resourceVersion beside the continue token",
		dir:  "listwatch",
		edits: one(`next.ResourceVersion, next.ResourceVersionMatch = "", ""`,
			`next.ResourceVersionMatch = ""`),
		trace: "pages",
	},
	{
		what:  "do not list again when the continue token has expired",
		dir:   "listwatch",
		edits: one(`!restarted && apierrors`, `restarted && apierrors`),
		trace: "continue-expired",
	},
	{
		what:  "follow a continue token that repeats",
		dir:   "listwatch",
		edits: one(`if t.seen[token] {`, `if t.seen[""] {`),
		trace: "continue-repeats",
	},
	{
		what:  "relist at resourceVersion=0",
		dir:   "reflector",
		edits: one(`if version == "" && s.initial == ListAny {`, `if version = ""; s.initial == ListAny {`),
		trace: "relist",
	},
	{
		what:  "send a limit with every list",
		dir:   "reflector",
		edits: one(`case s.paged, version == "", version == "0":`, `case s.paged, true:`),
		trace: "relist",
	},
	{
		what:  "forget that a server without a watch cache pages",
		dir:   "reflector",
		edits: one(`s.paged = s.paged ||`, `s.paged = s.paged &&`),
		trace: "paged-for-good",
	},
	{
		what: "never fall back to the most recent state after a 410",
		dir:  "reflector",
		edits: one("case Expired, TooLarge:\n\t\ts.refused = true\n\t\tif p.version != \"\" {\n\t\t\treturn s.list(",
			"case TooLarge:\n\t\ts.refused = true\n\t\tif p.version != \"\" {\n\t\t\treturn s.list("),
		trace: "expired",
	},
	{
		what:  "ask for the most recent state for ever after one 410",
		dir:   "reflector",
		edits: one("s.refused = false\n", "\n"),
		trace: "expired-for-ever",
	},
	{
		what:  `do not recognise "Too large resource version"`,
		dir:   "reflector",
		edits: one("\tcase isTooLarge(status):", "\tcase false && isTooLarge(status):"),
		trace: "too-large",
	},
	{
		what:  "do not ask for bookmarks",
		dir:   "reflector",
		edits: one("AllowWatchBookmarks: true}", "AllowWatchBookmarks: false}"),
		trace: "bookmarks",
	},
	{
		what:  "send no timeoutSeconds",
		dir:   "reflector",
		edits: one("if seconds > 0 {", "if seconds < 0 {"),
		trace: "first-list",
	},
	{
		what:  "accept compressed streams",
		dir:   "transport",
		edits: one("DisableCompression:  true,", "DisableCompression:  false,"),
		trace: "headers",
	},
	{
		what: "relist when a watch ends in good order",
		dir:  "reflector",
		edits: one("case p.alive(now) >= healthy:\n\t\treturn s.watch(now, nil)",
			"case p.alive(now) >= healthy:\n\t\treturn s.relist(now, reason, err)"),
		trace: "watch-end",
	},
	{
		what:  "relist at the first error",
		dir:   "reflector",
		edits: one("if s.pace.failures < maxFailures {", "if s.pace.failures < 1 {"),
		trace: "watch-failing",
	},
	{
		what:  "reopen an empty stream for ever",
		dir:   "reflector",
		edits: one("if s.pace.empties >= maxEmpties {", "if s.pace.empties < 0 {"),
		trace: "empty-streams",
	},
	{
		what: "leave a stream open that brought an ERROR",
		dir:  "reflector",
		edits: []edit{
			{"\t\tdefer cancel()\n", ""},
			{"_ = stream.Close()", ""},
			{
				"\to.cancel()\n\t<-o.done\n",
				"\tselect {\n\tcase <-o.done:\n\tdefault:\n\t\to.cancel()\n\t\t<-o.done\n\t}\n",
			},
		},
		trace: "expired",
	},
	{
		what:  "wait for a silent stream for ever",
		dir:   "reflector",
		edits: one("at = earliest(at, earliest(p.deadline, s.silence(p)))", "at = earliest(at, s.silence(p))"),
		trace: "watch-silent",
	},
	{
		what:  "list when started again",
		dir:   "reflector",
		edits: one("case watching, probing:\n\t\tthen = toWatch", "case watching, probing:\n\t\tthen = toList"),
		trace: "stop-and-restart",
	},
	{
		what:  "no backoff",
		dir:   "reflector",
		edits: one("return floor + ", "return 0*floor + "),
		trace: "list-backoff",
	},
	{
		what:  "start the curve afresh after every watch",
		dir:   "reflector",
		edits: one("if w.open && w.alive(now) >= healthy {", "if w.open {"),
		trace: "expired-event-forms",
	},
	{
		what:  "reopen streams at once that deliver one event",
		dir:   "reflector",
		edits: one("case p.progress && !s.pace.reconnected:", "case p.progress:"),
		trace: "short-streams",
	},
	{
		what:  "ignore Retry-After",
		dir:   "reflector",
		edits: one("floor = max(floor, min(time.Duration(seconds)*time.Second, maxRetryAfter))", "_ = seconds"),
		trace: "retry-after",
	},
	{
		what:  "ignore a Retry-After that is a date",
		dir:   "transport",
		edits: one("at, err := http.ParseTime(value)", `at, err := http.ParseTime("")`),
		trace: "retry-after",
	},
	{
		what:  "drop the version of a bookmark",
		dir:   "reflector",
		edits: one("s.resume = resume\n", "if in.typ != listwatch.Bookmark {\n\t\ts.resume = resume\n\t}\n"),
		trace: "bookmarks",
	},
	{
		what:  "drop the version of an event",
		dir:   "reflector",
		edits: one("s.resume = resume\n", "if in.typ == listwatch.Bookmark {\n\t\ts.resume = resume\n\t}\n"),
		trace: "watch-end",
	},
	{
		what:  "resume at a version that is older than one seen before",
		dir:   "reflector",
		edits: one("if order < 0 {", "if order < -1 {"),
		trace: "bookmark-without-version",
	},
	{
		what:  "compare versions as text",
		dir:   "reflector",
		edits: one("if order < 0 {", "if version < resume && order < 2 {"),
		trace: "version-large",
	},
	{
		what:  "resume at an initial event of a watch without a version",
		dir:   "reflector",
		edits: one("if !unanchored(s.resume) || in.typ != listwatch.Added {", "if true {"),
		trace: "list-without-version",
	},
	{
		what:  "take a list that is older than it was asked to be",
		dir:   "reflector",
		edits: one(`if p.version != "" && errors.Is(err, errOlder) {`, `if p.version == "never" && errors.Is(err, errOlder) {`),
		trace: "list-goes-back",
	},
	{
		what:  "take a list that is older than what a get has brought",
		dir:   "reflector",
		edits: one("if older(s.resume, s.ahead) {", "if false {"),
		trace: "quarantine-get-ahead-of-a-list",
	},
	{
		what:  "ask for any state after a list without a version",
		dir:   "reflector",
		edits: one("s.refused = true\n\tcase p.version:", "case p.version:"),
		trace: "list-without-version-later",
	},
	{
		what:  "list at a version that is gone as long as it is answered",
		dir:   "reflector",
		edits: one("s.unmoved == s.resume {", `s.unmoved == "never" {`),
		trace: "relist-brings-nothing-new",
	},
	{
		what:  "list on where lists take longer than the server remembers",
		dir:   "reflector",
		edits: one("s.outrun >= maxOutrun {", "s.outrun < 0 {"),
		trace: "problem-07-list-outlasts-the-window",
	},
	{
		what:  "watch on after an outage without asking where the server is",
		dir:   "reflector",
		edits: one(`if s.outage && !unanchored(s.resume) {`, `if false {`),
		trace: "restored-backup-at-once",
	},
	{
		what:  "ask for one object after an outage, and not look at it",
		dir:   "reflector",
		edits: one("in.other = d.otherHistory", "_ = d.otherHistory"),
		trace: "restored-backup-overtaken",
	},
	{
		what:  "take from the sink what may be of another history",
		dir:   "reflector",
		edits: one("in.vain = d.reusedInVain", "_ = d.reusedInVain"),
		trace: "restored-backup-relist",
	},
	{
		what:  "take the silence of each watch by itself",
		dir:   "reflector",
		edits: one("s.mute += p.alive(now)", "s.mute = p.alive(now)"),
		trace: "server-behind-short-watches",
	},
	{
		what:  "wait for the end of initial events for ever",
		dir:   "reflector",
		edits: one(`at = earliest(at, p.patience())`, ``),
		trace: "streaming-without-end",
	},
	{
		what:  "wait for that end as long as anything happens",
		dir:   "reflector",
		edits: one("if !p.live.IsZero() {", "if false {"),
		trace: "streaming-without-end-busy",
	},
	{
		what:  "ask for initial events for ever",
		dir:   "reflector",
		edits: one(`if s.incomplete >= maxIncomplete {`, `if false {`),
		trace: "streaming-cut-twice",
	},
	{
		what:  "delete what a list has and nobody can decode",
		dir:   "reflector",
		edits: one(`ok && (held.UID == bad.Meta.UID`, `false && ok && (held.UID == bad.Meta.UID`),
		trace: "quarantine-in-list",
	},
	{
		what:  "apply events that are behind what a get has brought",
		dir:   "reflector",
		edits: one(`if d.quarantine.overtaken(e) ||`, `if`),
		trace: "quarantine-repaired-by-get",
	},
	{
		what:  "apply what cannot be read",
		dir:   "reflector",
		edits: one("case in.typ == listwatch.Bookmark, in.withheld:", "case in.typ == listwatch.Bookmark:"),
		trace: "event-of-another-kind",
	},
	{
		what:  "apply an event that is older than what is held",
		dir:   "reflector",
		edits: one("case errors.Is(err, errOlder) && !in.news:", "case errors.Is(err, errOlder) && false:"),
		trace: "version-late-events",
	},
	{
		what:  "forget deletions that were not seen",
		dir:   "deltafifo",
		edits: one("range q.unlisted(v) {", "range q.unlisted(v)[:0] {"),
		trace: "queue-replace-order",
	},
	{
		what:  "do not say that a deletion was inferred",
		dir:   "deltafifo",
		edits: one("Object: s.obj, Tombstone: &DeletedFinalStateUnknown[T]{Key: s.key, Obj: s.obj}}", "Object: s.obj}"),
		trace: "queue-replace-order",
	},
	{
		what:  "infer deletions in no order",
		dir:   "deltafifo",
		edits: one("\tslices.Sort(keys)\n\treturn slices.Compact(keys)", "\tslices.Sort(keys)\n\tkeys = slices.Compact(keys)\n\tslices.Reverse(keys)\n\treturn keys"),
		trace: "queue-replace-order",
	},
	{
		what:  "ignore that the UID has changed",
		dir:   "deltafifo",
		edits: one("object.Another(s.uid, id.uid)", "object.Another(s.uid, s.uid)"),
		trace: "queue-recreated-in-gap",
	},
	{
		what:  "be synced when the list has come",
		dir:   "deltafifo",
		edits: one("if q.lists == 1 && q.initial == 0 {\n", "if q.lists == 1 {\n\t\tq.initial = 0\n"),
		trace: "queue-synced",
	},
	{
		what:  "coalesce without being asked to",
		dir:   "deltafifo",
		edits: one("case q.coalesce:", "case true:"),
		trace: "expired",
	},
	{
		what:  "make of another object an update of the one that is held",
		dir:   "reflector",
		edits: one("if ok && another(held.UID, e.Meta.UID) {", "if false && another(held.UID, e.Meta.UID) {"),
		trace: "event-of-another-object",
	},
	{
		what:  "take a deletion that nobody had heard of for the one that is queued",
		dir:   "deltafifo",
		edits: one("Tombstone == nil || object.Another(e.uid, uid) {", "Tombstone == nil {"),
		trace: "queue-deletion-unheard",
	},
	{
		what:  "keep two deletions in a row",
		dir:   "deltafifo",
		edits: one("case d.Type == Deleted && e.last == Deleted:", "case false:"),
		trace: "queue-two-deletions",
	},
	{
		what:  "prefer an inferred deletion to an observed one",
		dir:   "deltafifo",
		edits: one("if e.deltas[n-1].Tombstone == nil ||", "if d.Tombstone == nil ||"),
		trace: "queue-two-deletions",
	},
	{
		what:  "queue the deletion of what nobody has heard of",
		dir:   "deltafifo",
		edits: one("case !known:\n", "case !known && q == nil:\n"),
		trace: "queue-delete-unknown",
	},
	{
		what:  "never resync",
		dir:   "reflector",
		edits: one("if s.resyncAt.IsZero() && s.resync > 0 {", "if s.resyncAt.IsZero() && s.resync < 0 {"),
		trace: "resync",
	},
	{
		what:  "resync objects that are queued",
		dir:   "deltafifo",
		edits: one("if q.pending(q.entries[key]) {", "if false {"),
		trace: "resync",
	},
}
