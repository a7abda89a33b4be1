package relay

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"
)

// answers remembers the answers to questions for a time, and asks a question once for all who have
// it at the same time. Of a question it keeps a digest, because a reader can send long ones, and
// because a token is a secret.
//
// Yes and no are remembered apart: a stranger who sends many tokens does not make the relay forget
// its readers.
type answers[V any] struct {
	mu      sync.Mutex
	yes, no remembered[V]
	asked   map[digest]*question[V] // on their way
}

type digest [sha256.Size]byte

// A question goes on until nobody waits for its answer.
type question[V any] struct {
	outcome[V]
	waiting int
	cancel  context.CancelFunc
}

func newAnswers[V any](yes, no time.Duration) *answers[V] {
	return &answers[V]{
		yes:   remembered[V]{ttl: yes, all: map[digest]expiry[V]{}},
		no:    remembered[V]{ttl: no, all: map[digest]expiry[V]{}},
		asked: map[digest]*question[V]{},
	}
}

func (a *answers[V]) to(ctx context.Context, text []byte, ask func(context.Context) (value V, yes bool, err error)) (value V, err error) {
	key := digest(sha256.Sum256(text))
	a.mu.Lock()
	for _, known := range []*remembered[V]{&a.yes, &a.no} {
		if value, ok := known.get(key); ok {
			a.mu.Unlock()
			return value, nil
		}
	}
	q := a.asked[key]
	if q == nil {
		q = &question[V]{outcome: outcome[V]{done: make(chan struct{})}}
		shared, cancel := context.WithTimeout(context.Background(), reviewTimeout)
		q.cancel = cancel
		a.asked[key] = q
		go a.ask(shared, key, q, ask) //nolint:contextcheck // others may wait for the answer when this caller has gone
	}
	q.waiting++
	a.mu.Unlock()
	select {
	case <-q.done:
		return q.value, q.err
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if q.waiting--; q.waiting == 0 {
		q.cancel()
		a.end(key, q)
	}
	return value, ctx.Err()
}

func (a *answers[V]) ask(ctx context.Context, key digest, q *question[V], ask func(context.Context) (V, bool, error)) {
	defer q.cancel()
	began := time.Now() // the answer may be that of this moment, however long it takes to come
	value, yes, err := ask(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err != nil:
	case yes:
		a.yes.set(key, value, began)
	default:
		a.no.set(key, value, began)
	}
	q.value, q.err = value, err
	close(q.done)
	a.end(key, q)
}

// end forgets a question, so that the next who has it asks again. The caller holds the lock.
func (a *answers[V]) end(key digest, q *question[V]) {
	if a.asked[key] == q {
		delete(a.asked, key)
	}
}

// remembered has answers until they are as old as ttl. It holds a bounded number: when it is full,
// it forgets what has expired, or else any tenth of the rest.
type remembered[V any] struct {
	ttl time.Duration
	all map[digest]expiry[V]
}

type expiry[V any] struct {
	value V
	until time.Time
}

// maxRemembered is enough for some 10,000 readers of several resources, each with an identity of
// its own. An answer takes about 150 bytes.
const maxRemembered = 100_000

func (r *remembered[V]) get(key digest) (value V, ok bool) {
	x, ok := r.all[key]
	if !ok || !time.Now().Before(x.until) {
		return value, false
	}
	return x.value, true
}

func (r *remembered[V]) set(key digest, value V, asked time.Time) {
	if now := time.Now(); len(r.all) >= maxRemembered {
		for k, x := range r.all { // what has expired goes: the order does not matter
			if !now.Before(x.until) {
				delete(r.all, k)
			}
		}
		for k := range r.all { // a map is ranged over from anywhere
			if len(r.all) <= maxRemembered*9/10 {
				break
			}
			delete(r.all, k)
		}
	}
	r.all[key] = expiry[V]{value, asked.Add(r.ttl)}
}
