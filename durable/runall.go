package durable

import (
	"context"
	"crypto/rand"
	"sync"

	"github.com/relist-go/relist/object"
)

// RunAll runs several mirrors of one program, such as those of the tables of a database, as one
// writer. When one of them ends, RunAll ends the others, and returns the index of the first and its
// error. If ctx ends before, it returns -1 and ctx.Err().
//
// If several programs with the same copies call RunAll at the same time, all copies go to one of
// them, and the others get [ErrFenced]. If each mirror had a Run of its own, one program could open
// one copy last, another program another copy, and both would end. For this, no copy is opened
// before the states of all have been loaded.
func RunAll[T object.Object](ctx context.Context, mirrors ...*Mirror[T]) (ended int, err error) {
	all, stop := context.WithCancel(ctx)
	defer stop()
	type end struct {
		index int
		err   error
	}
	ends, shared := make(chan end, len(mirrors)), newClaim(len(mirrors))
	for i, m := range mirrors {
		go func() { ends <- end{i, m.run(all, shared)} }()
	}
	ended = -1
	for range mirrors {
		e := <-ends
		if ended < 0 && ctx.Err() == nil {
			ended, err = e.index, e.err
			stop()
		}
	}
	if ended < 0 {
		err = ctx.Err()
	}
	return ended, err
}

// claim decides which of several programs keeps the copies that all of them open: the one with the
// highest number, and of two with the same number the one with the greater text. The number is
// greater than those of the states before, so the program that begins last wins. It is the same for
// all copies of a program, so a program that wins one of them is not beaten at another by one that
// it beats.
type claim struct {
	writer string // a random text

	mu     sync.Mutex
	number int64         // greater than those of the states that were loaded
	absent int           // mirrors that have not loaded a state
	fixed  chan struct{} // closed when absent is 0: number does not change any more
}

func newClaim(mirrors int) *claim {
	return &claim{writer: rand.Text(), number: 1, absent: mirrors, fixed: make(chan struct{})}
}

// loaded notes the state that a mirror has loaded first, and waits for those of the other mirrors.
func (c *claim) loaded(ctx context.Context, s State) error {
	c.mu.Lock()
	c.number = max(c.number, s.Claim+1)
	if c.absent--; c.absent == 0 {
		close(c.fixed)
	}
	c.mu.Unlock()
	select {
	case <-c.fixed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// beatenBy reports whether a state is of a program that keeps the copy. Call it when the number is
// fixed.
func (c *claim) beatenBy(s State) bool {
	return s.Claim > c.number || s.Claim == c.number && s.Writer > c.writer
}
