package informer

import "time"

// resync says which objects are offered to a handler again, and when. A period is divided into
// steps, and each step has its share of the keys that the store had when the period began.
type resync struct {
	period time.Duration
	begins time.Time // of this period
	keys   []string
	step   int // the next one, from 1
	steps  int
}

// maxSteps is the largest number of times that the resync of one handler wakes the consumer in a
// period.
const maxSteps = 100

// newResync returns nil if the period is zero or negative. The first period has no keys, because
// the handler has just got every object.
func newResync(period time.Duration, now time.Time) *resync {
	if period <= 0 {
		return nil
	}
	return &resync{period: period, begins: now, step: 1, steps: 1}
}

// at returns the time of the next step.
func (r *resync) at() time.Time {
	if r.step == r.steps {
		return r.begins.Add(r.period)
	}
	return r.begins.Add(r.period / time.Duration(r.steps) * time.Duration(r.step))
}

// due returns the keys of the steps whose time has come. It asks for all keys when a period begins.
func (r *resync) due(now time.Time, all func() []string) []string {
	var due []string
	for !now.Before(r.at()) {
		due = append(due, r.keys[len(r.keys)*(r.step-1)/r.steps:len(r.keys)*r.step/r.steps]...)
		r.step++
		if r.step <= r.steps {
			continue
		}
		r.begins = r.begins.Add(r.period)
		if now.Sub(r.begins) >= r.period {
			r.begins = now // the computer slept: several periods were missed, and one is enough
		}
		r.keys = all()
		r.step, r.steps = 1, min(max(len(r.keys), 1), maxSteps)
	}
	return due
}
