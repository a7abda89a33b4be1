package tracepage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/protocol"
)

// Row is one step of the machine, in the columns of docs/states.md.
type Row struct {
	At      string `json:"at"`
	From    string `json:"from"` // the phase before
	Phase   string `json:"phase"`
	Input   string `json:"in"`
	Next    string `json:"next"`
	Effects string `json:"fx"`

	Time   time.Duration `json:"-"` // since the start of the run
	Delay  time.Duration `json:"-"` // of a backoff; 0 if there is none
	Reason string        `json:"-"` // of it
}

// Describe returns the row of a step that took the machine from one state to another.
func Describe(at time.Duration, from, to State, in protocol.Input, effects []protocol.Effect) Row {
	row := Row{At: Clock(at), From: from.Phase, Phase: to.Phase, Time: at, Input: input(in), Next: to.Phase}
	if to.Resume != from.Resume && to.Resume != "" {
		row.Next += "; resume version " + to.Resume
	}
	for _, key := range to.Quarantine {
		if !slices.Contains(from.Quarantine, key) {
			row.Next += "; " + key + " in quarantine"
		}
	}
	for _, key := range from.Quarantine {
		if !slices.Contains(to.Quarantine, key) {
			row.Next += "; " + key + " is out of quarantine"
		}
	}
	var texts []string
	for _, e := range effects {
		if text := effect(e); text != "" {
			texts = append(texts, text)
		}
		if backoff, ok := e.(protocol.Backoff); ok {
			row.Delay, row.Reason = backoff.Delay, backoff.Reason.String()
		}
	}
	row.Effects = strings.Join(texts, "; ")
	return row
}

// Merge adds a step that followed at once: the sink took the change that the first step gave it.
func (r *Row) Merge(next Row) {
	r.Phase, r.Delay, r.Reason = next.Phase, max(r.Delay, next.Delay), cmp.Or(next.Reason, r.Reason)
	if _, more, ok := strings.Cut(next.Next, "; "); ok {
		r.Next += "; " + more
	}
	_, beside, ok := strings.Cut(r.Next, ";")
	r.Next = next.Phase
	if ok {
		r.Next += ";" + beside
	}
	r.Effects = strings.Trim(r.Effects+"; "+next.Effects, "; ")
}

// Says reports whether a step did anything.
func (r *Row) Says() bool { return r.Input != "time" || r.Effects != "" || r.Phase != r.From }

func input(in protocol.Input) string {
	switch in := in.(type) {
	case protocol.Tick:
		return "time"
	case protocol.Listed:
		if in.Failure.Reason != 0 {
			return "the list fails: " + failure(in.Failure)
		}
		return "a list comes"
	case protocol.Opened:
		return "the watch is accepted"
	case *protocol.Seen:
		return seen(in)
	case protocol.Ended:
		return "the watch ends: " + failure(in.Failure)
	case protocol.Refetched:
		switch {
		case in.Failure.Reason != 0:
			return "the answer about one object fails: " + failure(in.Failure)
		case len(in.Items) == 0:
			return "as of " + in.Version + ", the object is absent"
		}
		return fmt.Sprintf("as of %s, %s is at %s%s", in.Version, in.Items[0].Meta.Key, in.Items[0].Meta.ResourceVersion, bad(in.Items[0]))
	case protocol.MetadataListed:
		if in.Failure.Reason != 0 {
			return "the verification fails: " + failure(in.Failure)
		}
		return "metadata comes, as of " + in.Version
	case protocol.Compared:
		return fmt.Sprintf("the comparison finds %d differences", in.Differences.Count)
	case protocol.ListWanted:
		return "the program calls Relist"
	case protocol.ResumeSaved:
		return "a copy was saved at " + in.Point.Version
	case protocol.Took:
		return "the sink takes the change"
	case protocol.Refused:
		return "the sink refuses the change"
	case protocol.Stopped:
		return "Run ends"
	}
	return fmt.Sprintf("%T", in)
}

func seen(in *protocol.Seen) string {
	word := in.Type.String()
	version := "at " + in.Item.Meta.ResourceVersion
	if in.Item.Meta.ResourceVersion == "" {
		version = "without a resourceVersion"
	}
	switch {
	case in.EndsInitial:
		return "the BOOKMARK " + version + " that ends the initial events"
	case in.Type == object.Bookmark:
		return "BOOKMARK " + version
	}
	return strings.Join(strings.Fields(word+" "+in.Item.Meta.Key+" "+version), " ") + bad(in.Item)
}

func bad(item protocol.Item) string {
	if item.Err != nil {
		return ", which cannot be decoded"
	}
	return ""
}

func failure(f protocol.Failure) string {
	text := f.Reason.String()
	if f.Code != 0 {
		text = fmt.Sprintf("%d, %s", f.Code, text)
	}
	if f.RetryAfter > 0 {
		text += ", Retry-After " + Clock(f.RetryAfter)
	}
	return text
}

// effect describes an effect; "" for one that says nothing beside the others of its step.
func effect(e protocol.Effect) string {
	switch e := e.(type) {
	case protocol.List:
		text := "list at " + cmp.Or(e.Version, "most recent")
		if e.Limit > 0 {
			text += fmt.Sprintf(" in pages of %d", e.Limit)
		}
		return text
	case protocol.Watch:
		if e.Initial {
			return "watch with initial events, not older than " + cmp.Or(e.Version, "most recent") + ", for " + Clock(e.Timeout)
		}
		return "watch from " + cmp.Or(e.Version, "no version") + " for " + Clock(e.Timeout)
	case protocol.Refetch:
		if e.At != "" {
			return "history check: " + cmp.Or(e.Key, "any object") + " exactly at " + e.At
		}
		return "refetch " + cmp.Or(e.Key, "any object")
	case protocol.ListMetadata:
		return "list metadata at " + e.Version
	case protocol.Cancel:
		return "close the request (" + e.Reason.String() + ")"
	case protocol.CancelRefetch:
		return "cancel the refetch"
	case protocol.CancelVerification:
		return "cancel the verification"
	case protocol.Replace:
		if e.KeepUnlisted {
			return "replace at " + cmp.Or(e.Version, "no version") + ", keeping what is not listed"
		}
		return "replace at " + cmp.Or(e.Version, "no version")
	case protocol.Apply:
		return [...]string{
			protocol.Add: "add", protocol.Update: "update", protocol.Delete: "delete", protocol.InferDelete: "delete, inferred",
			protocol.Resync: "resync", protocol.Resumed: "the saved copy counts as the first list",
		}[e]
	case protocol.Collect:
		return "collect"
	case protocol.Compare:
		return "compare"
	case protocol.ListUnused:
		return "discard the list"
	case protocol.Relist:
		return "relist (" + e.Reason.String() + ")"
	case protocol.Backoff:
		return "backoff " + Clock(e.Delay) + " (" + e.Reason.String() + ")"
	case protocol.Problem:
		return "report: problem (" + e.Class.String() + ")"
	case protocol.Verified:
		return fmt.Sprintf("report: verified, %d differ", e.Differences)
	case protocol.Synced:
		return "report: synced"
	}
	return "" // the others report what the input and the other effects say already
}
