package protocol

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite docs/states.md and docs/states.svg from the code")

// TestStates prints the machine as a table, and draws it, and compares both with what people read.
// Every row is one call of Step.
func TestStates(t *testing.T) {
	for file, got := range map[string]string{
		"docs/states.md":                     printStates(),
		"docs/states.svg":                    draw(t, transitions()),
		"internal/tracepage/page/states.svg": drawSmall(),
	} {
		if *update {
			if err := os.WriteFile("../"+file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile("../" + file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s differs from the code; run go test ./protocol -run TestStates -update and read the diff (-file +code):\n%s", file, diff)
		}
	}
}

// TestExamplesHaveEveryEffect: an effect that no example has is one that nobody can look up.
func TestExamplesHaveEveryEffect(t *testing.T) {
	missing := map[string]bool{}
	for _, e := range []Effect{
		List{},
		Watch{},
		Refetch{},
		ListMetadata{},
		Cancel{},
		CancelRefetch{},
		CancelVerification{},
		Replace{},
		Collect{},
		Add,
		Compare{},
		Applied{},
		Passed{},
		ListUnused{},
		Failing{},
		Relist{},
		Backoff{},
		Recovered{},
		Problem{},
		Released{},
		Verified{},
		Synced{},
	} {
		missing[fmt.Sprintf("%T", e)] = true
	}
	for _, sec := range slices.Concat(phaseSections, besideSections) {
		for _, e := range sec.examples {
			_, _, effects := sec.play(e)
			for _, effect := range effects {
				delete(missing, fmt.Sprintf("%T", effect))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		t.Errorf("no example has the effect %s", name)
	}
}

const statesHead = `# The states of the reflector

For readers of package ` + "`protocol`" + `, and for looking up what relist does in a certain situation. The page is written by
` + "`go test ./protocol -run TestStates -update`" + `; do not edit it.

![The phases of the reflector, and what leads from one to another](states.svg)

The machine is in one of four phases: waiting, listing, streaming (a watch sends the whole state first) and watching. The drawing has a box
of its own for a watch that was sent and is not answered: opening. An arrow is an input that leads to another phase, and a box lists the
inputs that do not. These words of the drawing need a meaning; [the glossary](glossary.md#the-reflector) has those of the tables.

| in the drawing | meaning | rows |
| --- | --- | --- |
| Relist called | the program has asked for a list | [w15](#w15), [e25](#e25) |
| rate limit | six requests came within a few seconds, so the next one waits | [w10](#w10), [e24](#e24) |
| older state; rolled back | an answer is older than the copy: perhaps a backup was restored | [l8](#l8), [h3](#h3) |
| idle too long | nothing has come for so long that the connection may be dead | [o15](#o15), [e23](#e23) |
| repeat differs | the watch had to send the last events again, and sends others, so the server has another history | [p3](#p3) |
| history check | the machine asks for one object instead, exactly at a version | [h1](#h1), [h2](#h2) |
| refetch | a quarantined object is requested | [q1](#q1), [r1](#r1) |
| verification; much drift | the server's metadata is compared with the sink; more than a hundred objects differ | [d2](#d2), [d9](#d9) |
| time to repair | a list, because a refetch cannot help | [n1](#n1) |
| sink refuses | the queue, store or database has not taken a change or a list | [l14](#l14) |
| ends within 10s | the watch ended before it had been open for 10 seconds | [e17](#e17) |
| state complete; no initial events | the end of the initial events came; it did not come | [s3](#s3), [s10](#s10) |

Each row of a table below shows one step, or several steps with the same result, and has an anchor (states.md#w4). Before the step, the
resume version is 100 and nothing is wrong, unless the section or the row says otherwise. If the sink has the methods of
[` + "`" + `Holder` + "`" + `](../reflector/sink.go), the machine knows which objects the sink holds. "Next" names the next phase and what changes in the
machine's memory:

| next | meaning |
| --- | --- |
| resume 120 | the resume version becomes 120 |
| consistent next | lists ask for the most recent state (they are "consistent") until one of them succeeds |
| distrusted | the server may have been restored from a backup, so relist decodes every object of the next list |
| ` + "`" + `b` + "`" + ` quarantined | the sink may lack the latest state of ` + "`" + `b` + "`" + ` |
| ` + "`" + `b` + "`" + ` released | the sink has the latest state of ` + "`" + `b` + "`" + `, or ` + "`" + `b` + "`" + ` is gone |
| refetch version of ` + "`" + `b` + "`" + `: 110 | ` + "`" + `b` + "`" + ` was requested, and the answer was as of 110: the machine ignores later events of ` + "`" + `b` + "`" + ` up to 110 |
| repair list in 1s | the machine lists then, because a refetch cannot help |
| unverified; verified | whether a history check is pending |

The effects are requests ([queries](#requests)), changes of the sink, and reports. An effect that follows from the rest of the row is left
out. Delays are without their random part ([Jitter](#jitter)).

| effect | meaning |
| --- | --- |
| list at 100; consistent list; watch from 100; refetch ` + "`" + `b` + "`" + `; list metadata | sends this request; "reusing" decodes only objects whose version the sink does not hold |
| replace at 120 | gives the sink the whole state |
| add, update, delete | gives the sink one change |
| inferred delete | deletes an object although no event says so |
| collect | keeps one initial event until the state is complete |
| resync | offers every object of the sink to its consumer again |
| close | closes the open stream |
| compare | compares the sink with the listed metadata |
| backoff 800ms (expired); relist (expired) | the delay before the next request, or a list that was not planned, and the reason |
| problem (list) | something failed: a list, a watch, the sink, an object, a version out of order, or drift |

`

func printStates() string {
	var b strings.Builder
	b.WriteString(statesHead + printQueries() + printRanges() + printRates())
	section := func(level string, s section) {
		fmt.Fprintf(&b, "%s %s\n\n%s\n\n| | input | next | effects |\n| --- | --- | --- | --- |\n", level, s.title, s.text)
		for i, r := range s.rows() {
			fmt.Fprintf(&b, "| <a id=\"%s%d\"></a>%d | %s | %s | %s |\n", s.anchor, i+1, i+1, strings.Join(r.inputs, "; or "), r.next, r.effects)
		}
		b.WriteString("\n")
	}
	for _, s := range phaseSections {
		section("##", s)
	}
	b.WriteString("## Beside a watch\n\nThese tasks run in the background while a watch is open and keeps the other objects up to date.\n\n")
	for _, s := range besideSections {
		section("###", s)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// row is one line of a table: inputs that lead to the same state with the same effects.
type row struct {
	inputs        []string
	next, effects string
}

// rows plays the examples of a section. Neighbors that do the same share a row.
func (sec section) rows() []row {
	var rows []row
	for _, e := range sec.examples {
		before, after, effects := sec.play(e)
		r := row{[]string{e.in}, describeNext(before, after, effects), describeEffects(effects)}
		if last := len(rows) - 1; last >= 0 && rows[last].next == r.next && rows[last].effects == r.effects {
			rows[last].inputs = append(rows[last].inputs, e.in)
			continue
		}
		rows = append(rows, r)
	}
	return rows
}

// play returns the machine before and after an example, and its effects.
func (sec section) play(e example) (before, after *stage, effects []Effect) {
	s := newStage()
	sec.start(s)
	if e.before != nil {
		e.before(s)
	}
	was := &stage{m: s.m.clone(), at: s.at}
	e.input(s)
	return was, s, s.effects
}

// phaseName is the word of the drawing.
func (m *Machine) phaseName() string {
	if p, ok := m.phase.(*watching); ok && !p.open {
		return "opening"
	}
	return nameOf(m.phase)
}

func nameOf(p phase) string { return strings.TrimPrefix(fmt.Sprintf("%T", p), "*protocol.") }

func describeNext(before, after *stage, effects []Effect) string {
	a, b := after.m, before.m
	text := nameOf(a.phase)
	if p, ok := a.phase.(*waiting); ok {
		text += map[next]string{toList: " to list", toWatch: " to watch"}[p.then]
	}
	add := func(changed bool, format string, args ...any) {
		if changed {
			text += "; " + fmt.Sprintf(format, args...)
		}
	}
	add(a.resume != b.resume, "resume %s", orNone(a.resume))
	add(a.mostRecent() && !b.mostRecent() && !asksForMostRecent(effects), "consistent next")
	add(a.distrusted && !b.distrusted, "distrusted")
	add(a.lists.paged && !b.lists.paged, "every list in pages")
	add(a.lists.initialEventsUntil.After(b.lists.initialEventsUntil), "initial events for an hour")
	add(a.lists.listsUntil.After(b.lists.listsUntil), "lists for an hour")
	add(a.quarantine.noRefetchUntil.After(b.quarantine.noRefetchUntil), "no refetches for an hour")
	for _, key := range slices.Sorted(maps.Keys(a.quarantine.entries)) {
		e, was := a.quarantine.entries[key], b.quarantine.entries[key]
		switch wait := e.next.Sub(after.at); {
		case was == nil:
			add(true, "`%s` quarantined, refetch in %v", key, wait)
		case *was != *e && !e.next.Equal(was.next):
			add(true, "refetch of `%s` in %v", key, wait)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(b.quarantine.entries)) {
		add(a.quarantine.entries[key] == nil, "`%s` released", key)
	}
	add(a.quarantine.beyondLimit > b.quarantine.beyondLimit, "one more quarantined, without a refetch")
	for _, key := range slices.Sorted(maps.Keys(a.quarantine.versions)) {
		add(a.quarantine.versions[key] != b.quarantine.versions[key], "refetch version of `%s`: %s", key, a.quarantine.versions[key])
	}
	for _, key := range slices.Sorted(maps.Keys(b.quarantine.versions)) {
		add(a.quarantine.versions[key] == "", "no refetch version of `%s`", key)
	}
	add(a.quarantine.repair.due() && !b.quarantine.repair.due(), "repair list in %v", a.quarantine.repair.at.Sub(after.at))
	add(a.history.unverified != nil && b.history.unverified == nil, "unverified")
	add(a.history.unverified == nil && b.history.unverified != nil, "verified")
	if a.history.unverified != nil && !a.history.unverified.at.IsZero() && (b.history.unverified == nil || !a.history.unverified.at.Equal(b.history.unverified.at)) {
		add(true, "history check in %v", a.history.unverified.at.Sub(after.at))
	}
	add(!a.verify.next.Equal(b.verify.next), "verification in %v", a.verify.next.Sub(after.at))
	return text
}

// asksForMostRecent reports whether an effect says already that the most recent state is wanted.
func asksForMostRecent(effects []Effect) bool {
	return slices.ContainsFunc(effects, func(e Effect) bool {
		switch e := e.(type) {
		case List:
			return e.Version == ""
		case Watch:
			return e.Initial && e.Version == ""
		}
		return false
	})
}

func describeEffects(effects []Effect) string {
	texts := make([]string, 0, len(effects))
	for _, e := range effects {
		if text := describeEffect(e); text != "" {
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		return "none"
	}
	return strings.Join(texts, "; ")
}

func describeEffect(e Effect) string {
	switch e := e.(type) {
	case List:
		text := "list at " + e.Version
		switch {
		case e.Version == "":
			text = "consistent list"
		case e.Version != "0" && e.Limit > 0:
			text += " in pages"
		}
		if e.Reuse {
			text += ", reusing"
		}
		return text
	case Watch:
		if e.Initial {
			return "initial events, " + notOlder(e.Version)
		}
		return "watch from " + orNone(e.Version)
	case Refetch:
		if e.Key == "" {
			return "refetch any one object"
		}
		return "refetch `" + e.Key + "`"
	case ListMetadata:
		return "list metadata at " + e.Version
	case Cancel:
		return "close"
	case CancelRefetch:
		return "cancel the refetch"
	case CancelVerification:
		return "cancel the verification"
	case Replace:
		if e.KeepUnlisted {
			return "replace at " + orNone(e.Version) + ", keeping unlisted objects"
		}
		return "replace at " + orNone(e.Version)
	case Apply:
		return map[Apply]string{Add: "add", Update: "update", Delete: "delete", InferDelete: "inferred delete", Resync: "resync", Resumed: "the saved copy counts as the first list"}[e]
	case Collect:
		return "collect"
	case Compare:
		return "compare"
	}
	return describeReport(e)
}

// describeReport describes the effects that are reports.
func describeReport(e Effect) string {
	switch e := e.(type) {
	case ListUnused:
		return "discard the list"
	case Applied, Passed, Failing, Released:
		return "" // the input, the state or another effect says it
	case Relist:
		return fmt.Sprintf("relist (%v)", e.Reason)
	case Backoff:
		return fmt.Sprintf("backoff %v (%v)", e.Delay, e.Reason)
	case Recovered:
		return "recovered"
	case Problem:
		return fmt.Sprintf("problem (%v)", e.Class)
	case Verified:
		return fmt.Sprintf("verified, %d differ", e.Differences)
	case Synced:
		return "synced"
	}
	return fmt.Sprintf("%T", e)
}

func orNone(version string) string {
	if version == "" {
		return "no version"
	}
	return version
}

func notOlder(version string) string {
	if version == "" {
		return "most recent"
	}
	return "not older than " + version
}
