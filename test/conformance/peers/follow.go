package main

import "time"

const (
	// grace is how far a client may be behind and still count as following: programs look ten times
	// a second, and the machine may be busy.
	grace = 2 * time.Second
	// steady is how long a client has to follow, so that it counts as recovered.
	steady = 5 * time.Second
)

// shown is a line that a client has printed.
type shown struct {
	at   time.Time
	line string
}

// followed returns the first moment from which a client follows the server. At that moment the
// client shows a state of the server that is not older than from, and during the time d after it
// the client is never behind by more than grace. ok is false if there has been no such moment yet.
func followed(states []state, lines []shown, from, now time.Time, d time.Duration) (at time.Time, ok bool) {
	if from.Add(d).After(now) {
		return at, false
	}
	index := make(map[string]int, len(states))
	for i, s := range states {
		index[s.line] = i
	}
	// known[i] is the state that line i shows, -1 if the server was never like this.
	known := make([]int, len(lines))
	for i, l := range lines {
		n, ok := index[l.line]
		if !ok {
			n = -1
		}
		known[i] = n
	}
	// last is the state that was shown last at a moment; best, the newest one that was shown in the
	// grace before it, too.
	last := func(t time.Time) int {
		n := -1
		for i, l := range lines {
			if l.at.After(t) {
				break
			}
			n = known[i]
		}
		return n
	}
	best := func(t time.Time) int {
		n := last(t.Add(-grace))
		for i, l := range lines {
			if !l.at.After(t) && l.at.After(t.Add(-grace)) {
				n = max(n, known[i])
			}
		}
		return n
	}
	candidates := []time.Time{from}
	for _, l := range lines {
		if l.at.After(from) {
			candidates = append(candidates, l.at)
		}
	}
	oldest := current(states, from)
next:
	for _, c := range candidates {
		if c.Add(d).After(now) || last(c) < oldest {
			continue
		}
		for t := c; !t.After(c.Add(d)); t = t.Add(100 * time.Millisecond) {
			if best(t) < max(oldest, current(states, t.Add(-grace))) {
				continue next
			}
		}
		return c, true
	}
	return time.Time{}, false
}

func current(states []state, t time.Time) int {
	n := -1
	for i, s := range states {
		if s.at.After(t) {
			break
		}
		n = i
	}
	return n
}
