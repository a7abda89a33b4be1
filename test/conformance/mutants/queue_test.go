package mutants

// ofQueues break the queue.
var ofQueues = []mutation{
	{
		what: "forget deletions that were not seen",
		dir:  "deltafifo",
		edits: one("range q.unlisted(v) {",
			"range q.unlisted(v)[:0] {"),
		trace: "queue-replace-order",
	},
	{
		what: "do not say that a deletion was inferred",
		dir:  "deltafifo",
		edits: one("Object: s.obj, Tombstone: &DeletedFinalStateUnknown[T]{Key: s.key, Object: s.obj}}",
			"Object: s.obj}"),
		trace: "queue-replace-order",
	},
	{
		what: "infer deletions in no order",
		dir:  "deltafifo",
		edits: one("\tslices.Sort(keys)\n\treturn slices.Compact(keys)",
			"\tslices.Sort(keys)\n\tkeys = slices.Compact(keys)\n\tslices.Reverse(keys)\n\treturn keys"),
		trace: "queue-replace-order",
	},
	{
		what: "ignore that the UID has changed",
		dir:  "deltafifo",
		edits: one("object.DifferentUID(s.uid, id.uid)",
			"object.DifferentUID(s.uid, s.uid)"),
		trace: "queue-recreated-in-gap",
	},
	{
		what: "be synced when the list has come",
		dir:  "deltafifo",
		edits: one("if q.lists > 0 && q.initial == 0 && !q.HasSynced() {\n",
			"if q.lists > 0 && !q.HasSynced() {\n"),
		trace: "queue-synced",
	},
	{
		what: "coalesce without being asked to",
		dir:  "deltafifo",
		edits: one("case q.coalesce:\n",
			"case true:\n"),
		trace: "expired",
	},
	{
		what: "take a deletion that nobody had heard of for the one that is queued",
		dir:  "deltafifo",
		edits: one("Tombstone == nil || object.DifferentUID(e.uid, uid) {",
			"Tombstone == nil {"),
		trace: "queue-deletion-unheard",
	},
	{
		what: "keep two deletions in a row",
		dir:  "deltafifo",
		edits: one("case d.Type == Deleted && e.last == Deleted:",
			"case false:"),
		trace: "queue-two-deletions",
	},
	{
		what: "prefer an inferred deletion to an observed one",
		dir:  "deltafifo",
		edits: one("if e.deltas[n-1].Tombstone == nil ||",
			"if d.Tombstone == nil ||"),
		trace: "queue-two-deletions",
	},
	{
		what: "queue the deletion of what nobody has heard of",
		dir:  "deltafifo",
		edits: one("case !known:\n",
			"case !known && q == nil:\n"),
		trace: "queue-delete-unknown",
	},
	{
		what: "resync objects that are queued",
		dir:  "deltafifo",
		edits: one("if q.pending(q.entries[key]) {\n\t\t\tcontinue",
			"if false {\n\t\t\tcontinue"),
		trace: "resync",
	},
}
