package simulation

import (
	"math/rand/v2"
	"slices"
)

// chaos is an adversary that throws dice. What it has chosen it often does again and
// again, for that is what breaks clients.
type chaos struct {
	rand    *rand.Rand
	rate    float64 // of requests that meet a fault
	stay    float64 // how likely a fault is followed by the same
	lists   run[answer]
	watches run[plan]
}

func newChaos(seed uint64) *chaos {
	r := dice(seed, 5)
	return &chaos{
		rand: r, rate: 0.3 + 0.7*r.Float64(), stay: 0.9 * r.Float64(),
		lists: run[answer]{deck: share(seed, answers)}, watches: run[plan]{deck: share(seed, plans)},
	}
}

// share returns some of all, which are a seed's to begin with: few seeds will do for all.
func share[F any](seed uint64, all []F) (some []F) {
	const size = 5
	for i := range uint64(size) {
		some = append(some, all[(seed*size+i)%uint64(len(all))])
	}
	return some
}

func (c *chaos) list() answer { return c.lists.next(c, answers) }
func (c *chaos) watch() plan  { return c.watches.next(c, plans) }

func (c *chaos) ask() error {
	if c.rand.Float64() < c.rate {
		return refusals[c.rand.IntN(len(refusals))].err
	}
	return nil
}

// run is a fault that is repeated; the zero F is none.
type run[F any] struct {
	fault F
	bad   bool
	deck  []F // those that have not had their turn
}

func (r *run[F]) next(c *chaos, all []F) F {
	if r.bad && c.rand.Float64() < c.stay {
		return r.fault
	}
	var none F
	r.fault, r.bad = none, false
	if c.rand.Float64() < c.rate {
		if len(r.deck) == 0 {
			r.deck = slices.Clone(all)
			c.rand.Shuffle(len(all), func(i, j int) { r.deck[i], r.deck[j] = r.deck[j], r.deck[i] })
		}
		r.fault, r.deck, r.bad = r.deck[0], r.deck[1:], true
	}
	return r.fault
}
