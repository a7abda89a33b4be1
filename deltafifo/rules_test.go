package deltafifo_test

import (
	"testing"

	"github.com/relist-go/relist/deltafifo"
)

type options = deltafifo.Options[*testObject]

// The cases are sorted by the rules in the documentation of Queue. In each case the consumer holds
// known at first; the case calls the queue, and want lists the entries that come out.
type ruleCase struct {
	name  string
	opts  options
	known []string
	do    func(f *fixture)
	want  []string
}

func runRule(t *testing.T, cases []ruleCase) {
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, test.opts, test.known...)
			test.do(f)
			f.want(test.want...)
		})
	}
}

func TestRule1OneEntryPerKeyInOrder(t *testing.T) {
	runRule(t, []ruleCase{
		{"a key keeps its place", options{}, nil, func(f *fixture) {
			f.add("b@1")
			f.add("a@2")
			f.update("b@3")
			f.delete("b@4")
			f.add("c@5")
			f.add("b@6")
		}, []string{"b: Added@1 Updated@3 Deleted@4 Added@6", "a: Added@2", "c: Added@5"}},
		{"a key that was taken goes to the end", options{}, nil, func(f *fixture) {
			f.add("a@1")
			f.add("b@2")
			f.pop()
			f.update("a@3")
		}, []string{"a: Added@1", "b: Added@2", "a: Updated@3"}},
		{"a key that is being processed goes to the end", options{}, nil, func(f *fixture) {
			f.add("a@1")
			f.add("b@2")
			f.pop(func() { f.update("a@3") })
		}, []string{"a: Added@1", "b: Added@2", "a: Updated@3"}},
		{"a list goes behind what is queued", options{}, nil, func(f *fixture) {
			f.add("c@1")
			f.replace("b@2", "c@3", "a@4")
		}, []string{"c: Added@1 Replaced@3 initial", "b: Replaced@2 initial", "a: Replaced@4 initial"}},
	})
}

func TestRule2TwoDeletionsBecomeOne(t *testing.T) {
	runRule(t, []ruleCase{
		{"observed twice", options{}, []string{"a@1"}, func(f *fixture) {
			f.delete("a@2")
			f.delete("a@3")
		}, []string{"a: Deleted@2"}},
		{"observed, then inferred", options{}, []string{"a@1"}, func(f *fixture) {
			f.delete("a@2")
			f.replace()
		}, []string{"a: Deleted@2"}},
		{"inferred, then observed", options{}, []string{"a@1"}, func(f *fixture) {
			f.replace()
			f.delete("a@2")
		}, []string{"a: Deleted@2 initial"}},
		{"inferred twice", options{}, []string{"a@1"}, func(f *fixture) {
			f.replace()
			f.replace()
		}, []string{"a: Deleted?@1 initial"}},
		{"inferred, then observed of an object nobody has heard of", options{}, []string{"a#x@1"}, func(f *fixture) {
			f.replace()
			f.delete("a#y@3")
		}, []string{"a: Deleted?@1 initial"}},
		{"inferred one by one", options{}, []string{"a@1"}, func(f *fixture) {
			f.must(f.q.DeleteInferred(obj("a@1")))
			f.delete("a@2")
			f.must(f.q.DeleteInferred(obj("a@1")))
		}, []string{"a: Deleted@2"}},
		{"not in a row", options{}, []string{"a@1"}, func(f *fixture) {
			f.delete("a@2")
			f.add("a@3")
			f.delete("a@4")
		}, []string{"a: Deleted@2 Added@3 Deleted@4"}},
	})
}

func TestRule3DeleteOfTheUnknownIsNothing(t *testing.T) {
	runRule(t, []ruleCase{
		{"unknown", options{}, nil, func(f *fixture) { f.delete("a@1") }, nil},
		{"known", options{}, []string{"a@1"}, func(f *fixture) { f.delete("a@2") }, []string{"a: Deleted@2"}},
		{"queued", options{}, nil, func(f *fixture) {
			f.add("a@1")
			f.delete("a@2")
		}, []string{"a: Added@1 Deleted@2"}},
		{"of another object that is known", options{}, []string{"a#x@1"}, func(f *fixture) { f.delete("a#y@3") }, []string{"a: Deleted?@1"}},
		{"of another object that is queued", options{}, []string{"a#x@1"}, func(f *fixture) {
			f.update("a#x@2")
			f.delete("a#y@4")
		}, []string{"a: Updated@2 Deleted?@2"}},
		{"of another object that is being processed", options{}, nil, func(f *fixture) {
			f.add("a#x@1")
			f.pop(func() { f.delete("a#y@3") })
		}, []string{"a: Added@1", "a: Deleted?@1"}},
		{"of an object whose UID is not known", options{}, []string{"a#@1"}, func(f *fixture) { f.delete("a#y@3") }, []string{"a: Deleted@3"}},
		{"inferred of the unknown", options{}, nil, func(f *fixture) { f.must(f.q.DeleteInferred(obj("a@1"))) }, nil},
		{"inferred of the known", options{}, []string{"a@1"}, func(f *fixture) { f.must(f.q.DeleteInferred(obj("a@1"))) }, []string{"a: Deleted?@1"}},
		{"deleted before", options{}, []string{"a@1"}, func(f *fixture) {
			f.delete("a@2")
			f.pop()
			f.delete("a@2")
		}, []string{"a: Deleted@2"}},
	})
}

func TestRule4ReplaceInfersDeletions(t *testing.T) {
	runRule(t, []ruleCase{
		{"list order, then key order", options{}, []string{"d@1", "e@1", "b@1"}, func(f *fixture) {
			f.replace("c@2", "a@2")
		}, []string{
			"c: Replaced@2 initial", "a: Replaced@2 initial",
			"b: Deleted?@1 initial", "d: Deleted?@1 initial", "e: Deleted?@1 initial",
		}},
		{"queued only: the last state is in the tombstone", options{}, nil, func(f *fixture) {
			f.add("a@1")
			f.update("a@2")
			f.replace()
		}, []string{"a: Added@1 Updated@2 Deleted?@2 initial"}},
		{"queued is newer than known", options{}, []string{"a@1"}, func(f *fixture) {
			f.update("a@2")
			f.replace()
		}, []string{"a: Updated@2 Deleted?@2 initial"}},
		{"never two of two lists", options{}, []string{"a@1"}, func(f *fixture) {
			f.replace("b@2")
			f.replace("b@2")
			f.drain()
			f.replace("b@2")
		}, []string{"b: Replaced@2 Replaced@2 initial", "a: Deleted?@1 initial", "b: Replaced@2"}},
		{"a duplicate in the list: the last wins", options{}, nil, func(f *fixture) {
			f.replace("a@1", "b@1", "a@2")
		}, []string{"a: Replaced@1 Replaced@2 initial", "b: Replaced@1 initial"}},
		{"another UID than known", options{}, []string{"a#old@1"}, func(f *fixture) {
			f.replace("a#new@2")
		}, []string{"a: Deleted?@1 Replaced@2 initial"}},
		{"another UID than queued", options{}, []string{"a#old@1"}, func(f *fixture) {
			f.update("a#old@2")
			f.replace("a#new@3")
		}, []string{"a: Updated@2 Deleted?@2 Replaced@3 initial"}},
		{"the UID that is queued, not the one known", options{}, []string{"a#old@1"}, func(f *fixture) {
			f.delete("a#old@2")
			f.add("a#new@3")
			f.replace("a#new@3")
		}, []string{"a: Deleted@2 Added@3 Replaced@3 initial"}},
		{"another UID, the old deletion is queued", options{}, []string{"a#old@1"}, func(f *fixture) {
			f.delete("a#old@2")
			f.replace("a#new@3")
		}, []string{"a: Deleted@2 Replaced@3 initial"}},
		{"another UID within a list", options{}, nil, func(f *fixture) {
			f.replace("a#old@1", "a#new@2")
		}, []string{"a: Replaced@1 Deleted?@1 Replaced@2 initial"}},
		{"a UID that was taken away says nothing", options{}, []string{"a#@1", "b@1"}, func(f *fixture) {
			f.replace("a#new@2", "b#@2")
		}, []string{"a: Replaced@2 initial", "b: Replaced@2 initial"}},
		{"only keys: nobody knows", options{Known: nobody{}}, nil, func(f *fixture) {
			f.add("a@1")
			f.drain()
			f.replace("b@2")
		}, []string{"a: Added@1", "b: Replaced@2 initial"}},
	})
}

// nobody is a Known that holds nothing.
type nobody struct{}

func (nobody) Get(string) (*testObject, bool) { return nil, false }
func (nobody) Keys() []string                 { return nil }

func TestRule5WhatIsBeingProcessedCounts(t *testing.T) {
	runRule(t, []ruleCase{
		{"no ghost: the list lacks what is being added", options{}, nil, func(f *fixture) {
			f.add("a@1")
			f.pop(func() { f.replace() })
		}, []string{"a: Added@1", "a: Deleted?@1 initial"}},
		{"the tombstone has the state being processed, not the known one", options{}, []string{"a@1"}, func(f *fixture) {
			f.update("a@2")
			f.pop(func() { f.replace() })
		}, []string{"a: Updated@2", "a: Deleted?@2 initial"}},
		{"no second deletion: the list lacks what is being deleted", options{}, []string{"a@1"}, func(f *fixture) {
			f.delete("a@2")
			f.pop(func() { f.replace() })
		}, []string{"a: Deleted@2"}},
		{"the list has what is being deleted", options{}, []string{"a#old@1"}, func(f *fixture) {
			f.delete("a#old@2")
			f.pop(func() { f.replace("a#new@3") })
		}, []string{"a: Deleted@2", "a: Replaced@3 initial"}},
		{"another UID than the one being processed", options{}, nil, func(f *fixture) {
			f.add("a#old@1")
			f.pop(func() { f.replace("a#new@2") })
		}, []string{"a: Added@1", "a: Deleted?@1 Replaced@2 initial"}},
		{"delete of what is being added", options{}, nil, func(f *fixture) {
			f.add("a@1")
			f.pop(func() { f.delete("a@2") })
		}, []string{"a: Added@1", "a: Deleted@2"}},
		{"delete of what is being deleted", options{}, []string{"a@1"}, func(f *fixture) {
			f.delete("a@2")
			f.pop(func() { f.delete("a@2") })
		}, []string{"a: Deleted@2"}},
		{"resync of what is being updated", options{}, []string{"a@1", "b@1"}, func(f *fixture) {
			f.update("a@2")
			f.pop(func() { f.resync() })
		}, []string{"a: Updated@2", "b: Sync@1"}},
		{"resync of what is being deleted", options{}, []string{"a@1"}, func(f *fixture) {
			f.delete("a@2")
			f.pop(func() { f.resync() })
		}, []string{"a: Deleted@2"}},
		{"queued again counts for more", options{}, nil, func(f *fixture) {
			f.add("a@1")
			f.pop(func() {
				f.delete("a@2")
				f.replace()
			})
		}, []string{"a: Added@1", "a: Deleted@2"}},
		{"a deletion that failed is inferred again", options{}, []string{"a@1"}, func(f *fixture) {
			f.delete("a@2")
			f.popFailing()
			f.replace()
		}, []string{"a: Deleted@2 failed", "a: Deleted?@1 initial"}},
		{"an addition that failed is not there", options{}, nil, func(f *fixture) {
			f.add("a@1")
			f.popFailing()
			f.replace()
		}, []string{"a: Added@1 failed"}},
	})
}

func TestRule6ResyncQueuesWhatIsNotQueued(t *testing.T) {
	runRule(t, []ruleCase{
		{
			"by key",
			options{},
			[]string{"c@1", "a@1", "b@1"},
			func(f *fixture) { f.resync() },
			[]string{"a: Sync@1", "b: Sync@1", "c: Sync@1"},
		},
		{"not what is queued", options{}, []string{"a@1", "b@1"}, func(f *fixture) {
			f.update("b@2")
			f.resync()
		}, []string{"b: Updated@2", "a: Sync@1"}},
		{"not twice", options{}, []string{"a@1"}, func(f *fixture) {
			f.resync()
			f.resync()
		}, []string{"a: Sync@1"}},
		{"nothing is known", options{}, nil, func(f *fixture) {
			f.add("a@1")
			f.resync()
		}, []string{"a: Added@1"}},
	})
}

func TestRule9CoalesceKeepsTheNewestUpdate(t *testing.T) {
	coalesce := options{Coalesce: true}
	runRule(t, []ruleCase{
		{"off", options{}, nil, func(f *fixture) {
			f.update("a@1")
			f.update("a@2")
		}, []string{"a: Updated@1 Updated@2"}},
		{"on", coalesce, nil, func(f *fixture) {
			f.add("a@1")
			f.update("a@2")
			f.update("a@3")
			f.update("a@4")
		}, []string{"a: Added@4"}},
		{"a list between", coalesce, nil, func(f *fixture) {
			f.update("a@1")
			f.replace("a@1")
			f.update("a@2")
			f.update("a@3")
		}, []string{"a: Updated@3 initial"}},
		{"a Sync becomes what follows", coalesce, []string{"a@1"}, func(f *fixture) {
			f.resync()
			f.update("a@2")
			f.replace("a@2")
		}, []string{"a: Updated@2 initial"}},
		{"never over a re-creation", coalesce, nil, func(f *fixture) {
			f.update("a#old@1")
			f.delete("a#old@2")
			f.update("a#new@3")
			f.update("a#new@4")
		}, []string{"a: Updated@1 Deleted@2 Updated@4"}},
		{"never over another UID", coalesce, nil, func(f *fixture) {
			f.update("a#old@1")
			f.update("a#new@2")
			f.update("a#new@3")
		}, []string{"a: Updated@1 Updated@3"}},
		{"the tombstone has the newest", coalesce, nil, func(f *fixture) {
			f.update("a@1")
			f.update("a@2")
			f.replace()
		}, []string{"a: Updated@2 Deleted?@2 initial"}},
	})
}
