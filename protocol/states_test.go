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

// TestStates prints the machine as a table, and draws it, and compares both with what people read. Every row is one call of
// Step.
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

This page is for who reads package ` + "`protocol`" + `, or wants to know what relist does in a certain situation. It is written by
` + "`go test ./protocol -run TestStates -update`" + `; do not edit it.

![The phases of the reflector, and what leads from one to another](states.svg)

The machine is always in one of four phases: waiting, listing, streaming (the whole state comes as the first events of a watch) and
watching. It starts in waiting. In the drawing, an arrow is the input that leads to another phase, and a box names what happens without
leaving the phase. A watch that the server has not answered yet is "opening". The machine remembers a resume version, which is the
resourceVersion up to which the sink has everything except what is in quarantine, and its places on two backoff schedules: one for
servers that answer, one for servers that cannot be reached.

A row has the input (a fact, or a time that has come), the next phase with what the machine remembers from now on, and the effects in
their order:

| effect | the driver |
| --- | --- |
| list at 100, watch from 100, refetch a, list metadata | sends this request |
| replace at 120, apply, collect, resync | gives the sink the whole state, one change, the items of a page, or every object again |
| close | closes the stream that is open |
| compare | compares the sink with the list of metadata |
| tell: … | reports this to the log, the trace and the metrics; "wait 800ms (expired)" is the delay before the next request, and its reason |

In every row of the phases below, the resume version is 100, and nothing is wrong except what the section and the row say. What
stays as it was is left out. Of each delay, a row has only the least value that relist can draw; [Jitter](#jitter) has the largest.

`

func printStates() string {
	var b strings.Builder
	b.WriteString(statesHead + printQueries() + printRanges() + printRates())
	section := func(level string, s section) {
		fmt.Fprintf(&b, "%s %s\n\n%s\n\n| input | next | effects |\n| --- | --- | --- |\n", level, s.title, s.text)
		for _, e := range s.examples {
			before, after, effects := s.play(e)
			fmt.Fprintf(&b, "| %s | %s | %s |\n", e.in, describeNext(before, after), describeEffects(effects))
		}
		b.WriteString("\n")
	}
	for _, s := range phaseSections {
		section("##", s)
	}
	b.WriteString("## Beside a watch\n\nWhat follows continues while a watch is open, and brings everything else up to date.\n\n")
	for _, s := range besideSections {
		section("###", s)
	}
	return strings.TrimSuffix(b.String(), "\n")
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
	return m.phase.name()
}

func describeNext(before, after *stage) string {
	a, b := after.m, before.m
	text := a.phase.name()
	if p, ok := a.phase.(*waiting); ok {
		text += map[next]string{toList: ", then list", toWatch: ", then watch"}[p.then]
	}
	add := func(changed bool, format string, args ...any) {
		if changed {
			text += "; " + fmt.Sprintf(format, args...)
		}
	}
	add(a.resume != b.resume, "resume version %s", orNone(a.resume))
	add(a.mostRecent() && !b.mostRecent(), "only the most recent state will do")
	add(a.distrusted && !b.distrusted, "what is held is not trusted")
	add(a.lists.paged && !b.lists.paged, "every list is paged")
	add(a.lists.initialEventsUntil.After(b.lists.initialEventsUntil), "initial events for an hour")
	add(a.lists.listsUntil.After(b.lists.listsUntil), "lists for an hour")
	add(a.noRefetchUntil.After(b.noRefetchUntil), "nothing is asked for an hour")
	for _, key := range slices.Sorted(maps.Keys(a.quarantine.entries)) {
		e, was := a.quarantine.entries[key], b.quarantine.entries[key]
		switch wait := e.next.Sub(after.at); {
		case was == nil:
			add(true, "%s in quarantine, asked for in %v", key, wait)
		case *was != *e && !e.next.Equal(was.next):
			add(true, "%s asked for again in %v", key, wait)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(b.quarantine.entries)) {
		add(a.quarantine.entries[key] == nil, "%s is out of quarantine", key)
	}
	add(a.quarantine.beyondLimit > b.quarantine.beyondLimit, "one more in quarantine, not asked for by itself")
	for _, key := range slices.Sorted(maps.Keys(a.refetchVersions)) {
		add(a.refetchVersions[key] != b.refetchVersions[key], "refetch version of %s at %s", key, a.refetchVersions[key])
	}
	for _, key := range slices.Sorted(maps.Keys(b.refetchVersions)) {
		add(a.refetchVersions[key] == "", "no refetch version of %s", key)
	}
	add(a.repair.due() && !b.repair.due(), "a list for repair in %v", a.repair.at.Sub(after.at))
	add(a.unverified != nil && b.unverified == nil, "the server is unverified")
	add(a.unverified == nil && b.unverified != nil, "the server counts as verified")
	if a.unverified != nil && !a.unverified.at.IsZero() && (b.unverified == nil || !a.unverified.at.Equal(b.unverified.at)) {
		add(true, "a question in %v", a.unverified.at.Sub(after.at))
	}
	add(!a.verify.next.Equal(b.verify.next), "verifies in %v", a.verify.next.Sub(after.at))
	return text
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
		text := "list at " + orMostRecent(e.Version)
		if e.Limit > 0 {
			text += fmt.Sprintf(" in pages of %d", e.Limit)
		}
		if e.Reuse {
			text += ", decoding what is new"
		}
		return text
	case Watch:
		if e.Initial {
			return fmt.Sprintf("watch with initial events, %s, for %v", notOlder(e.Version), e.Timeout)
		}
		return fmt.Sprintf("watch from %s for %v", orNone(e.Version), e.Timeout)
	case Refetch:
		if e.Key == "" {
			return "refetch any one object"
		}
		return "refetch " + e.Key
	case ListMetadata:
		return "list metadata at " + e.Version
	case Cancel:
		return "close"
	case CancelRefetch:
		return "give the refetch up"
	case CancelVerification:
		return "give the verification up"
	case Replace:
		if e.KeepUnlisted {
			return "replace at " + orNone(e.Version) + ", keeping what is not listed"
		}
		return "replace at " + orNone(e.Version)
	case Apply:
		return map[Apply]string{Add: "add", Update: "update", Delete: "delete", InferDelete: "delete, inferred", Resync: "resync", Resumed: "the saved copy counts as the first list"}[e]
	case Collect:
		return "collect"
	case Compare:
		return "compare"
	}
	return tellEffect(e)
}

// tellEffect describes those that are told to who watches the reflector.
func tellEffect(e Effect) string {
	switch e := e.(type) {
	case Applied:
		return "tell: event"
	case Passed:
		return "tell: bookmark"
	case ListUnused:
		return "do not take the list"
	case Failing:
		return "" // beside every problem, so it would say nothing here
	case Relist:
		return fmt.Sprintf("tell: relist (%v)", e.Reason)
	case Backoff:
		return fmt.Sprintf("tell: wait %v (%v)", e.Delay, e.Reason)
	case Recovered:
		return "tell: recovered"
	case Problem:
		return fmt.Sprintf("tell: problem (%v)", e.Class)
	case Released:
		return "" // the state says it
	case Verified:
		return fmt.Sprintf("tell: verified, %d differ", e.Differences)
	case Synced:
		return "tell: synced"
	}
	return fmt.Sprintf("%T", e)
}

func orNone(version string) string {
	if version == "" {
		return "no version"
	}
	return version
}

func orMostRecent(version string) string {
	if version == "" {
		return "most recent"
	}
	return version
}

func notOlder(version string) string {
	if version == "" {
		return "most recent"
	}
	return "not older than " + version
}
