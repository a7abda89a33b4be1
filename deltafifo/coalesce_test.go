package deltafifo_test

import (
	"fmt"
	"testing"
)

// However often a waiting object changes, its entry stays small, and its first and last deltas are
// those of the entry without Coalesce.
func TestCoalesceBoundsAnEntry(t *testing.T) {
	const rounds = 1000
	for _, test := range []struct {
		name  string
		known []string
		round func(f *fixture, version int)
		want  string
	}{
		{"lists", nil, func(f *fixture, n int) { f.replace(at("a", n)) }, "a: Replaced@2999 initial"},
		{"lists of a known object", []string{"a@1"}, func(f *fixture, n int) { f.replace(at("a", n)) }, "a: Replaced@2999 initial"},
		{"Updated and Added in turn", nil, func(f *fixture, n int) {
			f.update(at("a", n))
			f.add(at("a", n+1))
		}, "a: Updated@3000"},
		{"Updated and Replaced in turn", nil, func(f *fixture, n int) {
			f.update(at("a", n))
			f.replace(at("a", n))
		}, "a: Updated@2999 initial"},
		{"additions and deletions that nobody has seen", nil, func(f *fixture, n int) {
			f.add(at("a#"+fmt.Sprint(n), n))
			f.delete(at("a#"+fmt.Sprint(n), n+1))
		}, "a: Added@2 Deleted@3"},
		{"additions, and lists without them", nil, func(f *fixture, n int) {
			f.add(at("a#"+fmt.Sprint(n), n))
			f.replace()
		}, "a: Added@2 Deleted?@2 initial"},
		{"re-creations after the deletion of a known object", []string{"a#old@1"}, func(f *fixture, n int) {
			f.delete(at("a#old", n)) // the first time; then of another object, which was not announced
			f.add(at("a#"+fmt.Sprint(n), n+1))
			f.update(at("a#"+fmt.Sprint(n), n+2))
			if n < 2999 {
				f.delete(at("a#"+fmt.Sprint(n), n+2))
			}
		}, "a: Deleted@2 Added@3001"},
		{"re-creations that only lists tell of", []string{"a#old@1"}, func(f *fixture, n int) {
			f.replace(at("a#"+fmt.Sprint(n), n))
		}, "a: Deleted?@1 Replaced@2999 initial"},
		{"other UIDs without a deletion", []string{"a#old@1"}, func(f *fixture, n int) {
			f.update(at("a#"+fmt.Sprint(n), n))
		}, "a: Updated@2 Updated@2999"},
		{"all of it", []string{"a#old@1"}, func(f *fixture, n int) {
			uid := "a#" + fmt.Sprint(n)
			f.update(at(uid, n))
			f.add(at(uid, n))
			f.replace(at(uid, n))
			f.update(at(uid, n+1))
			f.must(f.q.DeleteInferred(obj(at(uid, n+1))))
			f.delete(at(uid, n+2))
			f.update(at(uid+"x", n+2))
		}, "a: Updated@3 Deleted@4 Updated@3001 initial"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, options{Coalesce: true}, test.known...)
			for i := range rounds {
				test.round(f, 2+3*i)
			}
			f.want(test.want)
		})
	}
}

func at(name string, version int) string { return fmt.Sprintf("%s@%d", name, version) }

// A coalesced entry leaves the consumer in the same state as all deltas would, and reports the
// deletion of the object that the consumer knew.
func TestCoalesceKeepsTheDeletionOfWhatWasKnown(t *testing.T) {
	coalesce := options{Coalesce: true}
	runRule(t, []ruleCase{
		{"known, deleted and made again", coalesce, []string{"a#1@1"}, func(f *fixture) {
			f.delete("a#1@2")
			f.add("a#2@3")
		}, []string{"a: Deleted@2 Added@3"}},
		{"and again", coalesce, []string{"a#1@1"}, func(f *fixture) {
			f.update("a#1@2")
			f.delete("a#1@3")
			f.add("a#2@4")
			f.delete("a#2@5")
			f.add("a#3@6")
		}, []string{"a: Updated@2 Deleted@3 Added@6"}},
		{"the deletion that is left is of the first", coalesce, []string{"a#1@1"}, func(f *fixture) {
			f.replace()
			f.add("a#2@4")
			f.delete("a#2@5")
			f.delete("a#1@6") // its final state is observed after all
		}, []string{"a: Deleted@6 initial"}},
		{"known to be processed", coalesce, nil, func(f *fixture) {
			f.add("a#1@1")
			f.pop(func() {
				f.delete("a#1@2")
				f.add("a#2@3")
				f.delete("a#2@4")
				f.add("a#3@5")
			})
		}, []string{"a: Added@1", "a: Deleted@2 Added@5"}},
		{"without UIDs", coalesce, []string{"a#@1"}, func(f *fixture) {
			f.delete("a#@2")
			f.add("a#@3")
			f.delete("a#@4")
			f.add("a#@5")
		}, []string{"a: Deleted@2 Added@5"}},
		{"the end of an object whose beginning ended another", coalesce, []string{"a#1@1"}, func(f *fixture) {
			f.update("a#1@2")
			f.update("a#2@3")
			f.delete("a#2@4")
		}, []string{"a: Updated@2 Updated@3 Deleted@4"}},
	})
}

// An object that came and went while its entry waited does not exist, for Replace and for Delete.
func TestCoalescedDeletionIsTheLast(t *testing.T) {
	f := newFixture(t, options{Coalesce: true}, "a#1@1")
	f.delete("a#1@2")
	f.add("a#2@3")
	f.delete("a#2@4")
	if obj, ok := f.q.Get("a"); ok {
		t.Errorf("Get finds %v", obj)
	}
	f.replace()
	f.want("a: Deleted@2")
}
