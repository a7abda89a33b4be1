package record

import (
	"strings"
	"time"
)

// observe compares what the client did from a time on with what it did live.
func (r *composer) observe(came []string, at time.Time) error {
	for _, line := range came {
		if d, ok := strings.CutPrefix(line, "~ "); ok {
			passed, err := time.ParseDuration(d)
			if err != nil {
				return err
			}
			at = at.Add(passed)
		}
		if err := r.saw(line, at); err != nil {
			return err
		}
	}
	return nil
}

func (r *composer) saw(line string, at time.Time) error {
	switch {
	case r.stopped:
		return nil
	case line == "> close":
		if x := r.newest(); x != nil {
			x.closed = true
			r.drop(x)
		}
		return nil
	case line != "> refused" && !strings.HasPrefix(line, "> GET "):
		return nil
	}
	if line != r.next() {
		if r.next() == "" && r.done() {
			return nil // live, there was no time left for it
		}
		return &DivergedError{Live: r.next(), Replay: line}
	}
	x := &replay{exchange: r.live.exchanges[r.asked], at: at}
	r.asked++
	r.by[x.exchange] = x
	if line == "> refused" {
		r.armed = false
		return nil
	}
	r.open = append(r.open, x)
	return nil
}

// done reports whether everything that was said live has been said.
func (r *composer) done() bool {
	for _, x := range r.open {
		if len(x.items) > 0 && x.items[len(x.items)-1].what == said(hungUp) {
			return false
		}
	}
	return true
}

// newest is the request that the next words will go to.
func (r *composer) newest() *replay {
	if len(r.open) == 0 {
		return nil
	}
	return r.open[len(r.open)-1]
}

// drop forgets a request that is over.
func (r *composer) drop(x *replay) {
	for i := range r.open {
		if r.open[i] == x {
			r.open = append(r.open[:i], r.open[i+1:]...)
			return
		}
	}
}
