package option_test

import (
	"math"
	"testing"
	"time"

	"github.com/relist-go/relist/internal/option"
)

func TestOr(t *testing.T) {
	for value, want := range map[int]int{0: 60, 5: 5, 1000: 1000, -1: 0, math.MinInt: 0} {
		if got := option.Or(value, 60); got != want {
			t.Errorf("Or(%d, 60) = %d, want %d", value, got, want)
		}
	}
	for value, want := range map[time.Duration]time.Duration{
		0: time.Minute, 5: 5, -1: 0, -time.Hour: 0, option.Longest: option.Longest, math.MaxInt64: option.Longest,
	} {
		if got := option.Time(value, time.Minute); got != want {
			t.Errorf("Time(%v, 1m) = %v, want %v", value, got, want)
		}
	}
}
