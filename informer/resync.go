package informer

import "time"

// resync says which objects a handler is to be offered again, and when. A period is divided into steps, and each step has
// its share of the keys that there were when the period began.
type resync struct {
	period time.Duration
	begun  time.Time // the period at hand
	keys   []string
	step   int // the next one, from 1
	steps  int
}

// maxSteps bounds how often in a period the consumer is woken up.
const maxSteps = 100

// newResync begins with a period without keys, so that nothing is offered again that has just been offered first. It is nil
// if the period says never.
func newResync(period time.Duration, now time.Time) *resync {
	if period <= 0 {
		return nil
	}
	return &resync{period: period, begun: now, step: 1, steps: 1}
}

// at returns the time of the next step.
func (r *resync) at() time.Time {
	if r.step == r.steps {
		return r.begun.Add(r.period)
	}
	return r.begun.Add(r.period / time.Duration(r.steps) * time.Duration(r.step))
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
		r.begun = r.begun.Add(r.period)
		if now.Sub(r.begun) >= r.period {
			r.begun = now // the machine slept: whole periods were missed, and once is enough
		}
		r.keys = all()
		r.step, r.steps = 1, min(max(len(r.keys), 1), maxSteps)
	}
	return due
}
