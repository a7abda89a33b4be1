package durabletest

import (
	"context"
	"testing"

	"github.com/relist-go/relist/durable"
)

// interrupted is a Copy to which something happens after a Load.
type interrupted struct {
	durable.Copy[obj]
	afterLoad func()
}

func (c *interrupted) Load(ctx context.Context) (durable.State, error) {
	state, err := c.Copy.Load(ctx)
	if c.afterLoad != nil {
		c.afterLoad()
		c.afterLoad = nil
	}
	return state, err
}

// A Mirror that opens a copy is not stopped by an earlier one that commits in the middle of the opening.
func TestOpeningWhileAnEarlierMirrorCommits(t *testing.T) {
	memory := newMemory[obj]()
	r := newRig(t, func(testing.TB) Place[obj] { return memory.Place() })
	s := newServer(r)
	earlier := s.start(r.open().Copy, "")
	commit := func() {
		s.put("default/a", true, false)
		if !s.wait(earlier, "", s.whole, false) {
			t.Error(earlier.mirror.Status().Err)
		}
	}
	commit()
	later := s.start(&interrupted{Copy: r.open().Copy, afterLoad: commit}, "")
	if !s.wait(later, "", s.whole, false) || memory.State().Epoch != 2 {
		t.Errorf("the later Mirror ended with %v, and the copy has %+v", later.stop(), memory.State())
	}
}

// lazy is a Copy that never begins another transaction than the first, which opens it.
type lazy struct {
	durable.Copy[obj]
	begun bool
}

func (c *lazy) Begin(ctx context.Context, current durable.State, list bool) (durable.Tx[obj], error) {
	if c.begun {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	c.begun = true
	return c.Copy.Begin(ctx, current, list)
}

// A Mirror need not commit a point that is committed already: nothing waits for that.
func TestWaitForWhatIsThere(t *testing.T) {
	memory := newMemory[obj]()
	r := newRig(t, func(testing.TB) Place[obj] { return memory.Place() })
	s := newServer(r)
	s.put("default/a", true, false)
	first := s.start(r.open().Copy, "")
	if !s.wait(first, "", s.whole, false) {
		t.Fatal(first.mirror.Status().Err)
	}
	_ = first.stop()
	second := s.start(&lazy{Copy: r.open().Copy}, "")
	if !s.wait(second, "", s.whole, false) {
		t.Error(second.mirror.Status().Err)
	}
}
