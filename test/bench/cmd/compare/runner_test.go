package main

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A case is repeated while one more run like the last is over within the budget.
func TestRepeat(t *testing.T) {
	for name, tt := range map[string]struct {
		options
		took time.Duration // by a run
		want int
	}{
		"quick":          {took: time.Second, want: mostRuns},
		"just quick":     {took: budget / mostRuns, want: mostRuns},
		"half":           {took: budget / 2, want: 2},
		"slow":           {took: budget/2 + 1, want: 1},
		"too slow":       {took: 10 * budget, want: 1},
		"told how often": {options: options{runs: 7}, took: budget, want: 7},
		"smoke":          {options: options{smoke: true}, took: time.Second, want: 1},
		"smoke and told": {options: options{smoke: true, runs: 7}, took: time.Second, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				called := 0
				runs, err := (&runner{options: tt.options}).repeat(budget, func(string) error {
					called++
					<-time.After(tt.took)
					return nil
				})
				if runs != tt.want || called != tt.want || err != nil {
					t.Errorf("%d runs, %d calls, %v, want %d", runs, called, err, tt.want)
				}
			})
		})
	}
	failed := errors.New("failed")
	if runs, err := (&runner{}).repeat(budget, func(string) error { return failed }); runs != 0 || !errors.Is(err, failed) {
		t.Errorf("%d runs, %v, want the error", runs, err)
	}
}
