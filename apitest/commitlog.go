package apitest

import "time"

// commitLog remembers when each of the last commits was made, so that a test can measure how long one took to arrive.
type commitLog struct {
	first uint64 // the version of times[0]
	times []time.Time
}

// commitsKept bounds the log: 65,536 commits are minutes of a fast test and 1.5 MB.
const commitsKept = 1 << 16

func (c *commitLog) add(t time.Time) {
	if len(c.times) == commitsKept {
		c.times = append(make([]time.Time, 0, commitsKept), c.times[commitsKept/2:]...)
		c.first += commitsKept / 2
	}
	c.times = append(c.times, t)
}

func (c *commitLog) at(rv uint64) (time.Time, bool) {
	if rv < c.first || rv-c.first >= uint64(len(c.times)) {
		return time.Time{}, false
	}
	return c.times[rv-c.first], true
}

// truncate forgets every commit after rv.
func (c *commitLog) truncate(rv uint64) {
	if rv+1 < c.first {
		c.first, c.times = rv+1, nil
		return
	}
	c.times = c.times[:min(uint64(len(c.times)), rv+1-c.first)]
}
