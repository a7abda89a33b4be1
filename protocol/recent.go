package protocol

import (
	"fmt"
	"slices"

	"github.com/relist-go/relist/object"
)

// recent holds the newest states that the server has sent, the newest first: those of the last
// events, or those of the last list if no event has come since. A key may have several states. A
// state is here even if the sink has not taken it. A place without a key is empty.
type recent struct {
	states [4]known

	// events is how many of the states are the last events. Between the version since and the
	// resume version, the server has sent only these events. If events is zero, since means
	// nothing.
	events int
	since  string
}

// known is one state of an object, as the server has sent it.
type known struct {
	object.Meta
	gone bool // it was deleted
}

// event takes an event that has moved the resume version. from is where the resume version was
// before.
func (r *recent) event(from string, k known) {
	switch r.events {
	case 0:
		r.since = from
	case len(r.states):
		r.since = r.states[len(r.states)-1].ResourceVersion
	}
	copy(r.states[1:], r.states[:])
	r.states[0], r.events = k, min(r.events+1, len(r.states))
}

// passed takes a bookmark that has moved the resume version. The next watch starts there, and not
// before the last events, because the server may forget these events sooner than the bookmark's
// version.
func (r *recent) passed() { r.events = 0 }

// repeated takes an event that the server has repeated, and how many are left. If the watch ends
// now, the next watch starts behind this event. Without this rule, a server that ends each watch
// after one event would repeat the first event forever.
func (r *recent) repeated(k known, left int) {
	if r.events == left+1 {
		r.since, r.events = k.ResourceVersion, left
	}
}

// late takes an event that has not moved the resume version. If no newer state of its key is known,
// nobody knows the state of the key at the resume version any more.
func (r *recent) late(meta object.Meta) {
	r.events = 0
	kept := slices.DeleteFunc(r.states[:], func(k known) bool {
		return k.Key == meta.Key && !object.Older(meta.ResourceVersion, k.ResourceVersion)
	})
	clear(r.states[len(kept):])
}

// item takes an item of a list. Items are not ordered by version.
func (r *recent) item(meta object.Meta) {
	if !object.IsComparable(meta.ResourceVersion) {
		return
	}
	k := known{Meta: meta}
	for i, was := range r.states {
		if was.Key == "" || object.Older(was.ResourceVersion, k.ResourceVersion) {
			k, r.states[i] = was, k
		}
	}
}

// repeats returns where a watch begins that has to repeat the last events, and these events, the
// oldest first.
func (r *recent) repeats(resume string) (version string, events []known) {
	if r.events == 0 {
		return resume, nil
	}
	events = slices.Clone(r.states[:r.events])
	slices.Reverse(events)
	return r.since, events
}

// question is a request of the history check: it asks for the state of one object, exactly at a
// version. Without a key, only the version matters.
type question struct {
	known
	at string
}

// all returns a question for the newest state of each key, as far as it is known at the resume
// version.
func (r *recent) all(resume string) (all []question) {
	for _, k := range r.states {
		known := func(q question) bool { return q.Key == k.Key }
		if k.Key != "" && !object.Older(resume, k.ResourceVersion) && !slices.ContainsFunc(all, known) {
			all = append(all, question{k, resume})
		}
	}
	if len(all) == 0 {
		all = append(all, question{at: resume})
	}
	return all
}

// newest returns the question for the newest state. If that state is a deletion, newest also
// returns the question for the newest object that exists. There are no more questions, because
// every program sends them after every outage in which nothing has come.
func (r *recent) newest(resume string) []question {
	all := r.all(resume)
	there := slices.IndexFunc(all, func(q question) bool { return !q.gone })
	if there <= 0 {
		return all[:1]
	}
	return []question{all[0], all[there]}
}

// answer returns an error if what the server has at the version of the question is not what it had
// before.
func (q *question) answer(items []Item) error {
	switch {
	case q.Key == "", len(items) == 0 && q.gone:
		return nil
	case len(items) == 0:
		return fmt.Errorf("%w: %s was not there at %s, and was at %s", errOtherHistory, q.Key, q.at, q.ResourceVersion)
	case q.gone:
		return fmt.Errorf("%w: %s was there at %s, and was deleted at %s", errOtherHistory, q.Key, items[0].Meta.ResourceVersion, q.ResourceVersion)
	}
	if meta := items[0].Meta; object.DifferentUID(q.UID, meta.UID) || q.ResourceVersion != meta.ResourceVersion {
		return otherThan(q.Meta, meta)
	}
	return nil
}
