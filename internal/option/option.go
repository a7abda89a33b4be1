// Package option has the rule of the numbers in the options of transport, listwatch/source,
// reflector and controller: zero is the default, negative is off.
package option

import "time"

// Longest is what a longer time counts as, so that its sum with jitter or a schedule is still a
// time.
const Longest = 365 * 24 * time.Hour

// Or returns value, or byDefault if value is zero, or zero if value is negative.
func Or[N int | time.Duration](value, byDefault N) N {
	if value == 0 {
		return byDefault
	}
	return max(value, 0)
}

// Time is [Or] for a time. A time of more than a year counts as a year.
func Time(value, byDefault time.Duration) time.Duration { return min(Or(value, byDefault), Longest) }
