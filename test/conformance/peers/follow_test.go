package main

import (
	"fmt"
	"testing"
	"time"
)

// A server is written to once a second for 30 seconds; 10 s in, something has happened.
func TestFollowed(t *testing.T) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds float64) time.Time { return begin.Add(time.Duration(seconds * float64(time.Second))) }
	var states []state
	for i := range 30 {
		states = append(states, state{at(float64(i)), fmt.Sprint("1 ", i)})
	}
	// follows shows each state a tenth of a second after it came about.
	follows := func(from, to int) (lines []shown) {
		for i := from; i < to; i++ {
			lines = append(lines, shown{at(float64(i) + 0.1), fmt.Sprint("1 ", i)})
		}
		return lines
	}
	for _, c := range []struct {
		name  string
		lines []shown
		want  time.Duration // since then, negative for never
	}{
		{"never behind", follows(0, 30), 100 * time.Millisecond}, // the state of that very moment takes so long
		{"prints nothing", nil, -1},
		{"stops at the fault", follows(0, 8), -1},
		{"is back after five seconds", append(follows(0, 8), follows(15, 30)...), 5100 * time.Millisecond},
		{"relists once, and stops again", append(follows(0, 8), follows(15, 16)...), -1},
		{"relists now and then, and follows at the end", append(append(follows(0, 8), follows(13, 14)...), follows(20, 30)...), 10100 * time.Millisecond},
		{"holds what the server never had", append(follows(0, 8), shown{at(15), "2 x"}), -1},
		{"shows half a relist for a moment", append(append(follows(0, 8), shown{at(15.05), "2 x"}), follows(15, 30)...), 5100 * time.Millisecond},
	} {
		got, ok := followed(states, c.lines, at(10), at(30), steady)
		switch {
		case ok != (c.want >= 0):
			t.Errorf("%s: recovered is %v", c.name, ok)
		case ok && got.Sub(at(10)) != c.want:
			t.Errorf("%s: after %v, want %v", c.name, got.Sub(at(10)), c.want)
		}
	}
	if _, ok := followed(states, follows(0, 30), at(10), at(14), steady); ok {
		t.Error("recovered before it has followed for long enough")
	}
}
