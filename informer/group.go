package informer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/relist-go/relist/internal/goexit"
	"github.com/relist-go/relist/reflector"
)

// A Group runs informers, which may have different types. It is for a program with many resources,
// or with resources that it learns of while it runs:
//
//	group := informer.NewGroup()
//	err := group.Add("pods", pods)
//	err = group.Add("configmaps", configMaps) // a MultiNamespace, for some namespaces
//	err = group.Run(ctx)
//
// All methods may be called from any goroutine.
type Group struct {
	mu      sync.Mutex
	start   func(*member) // starts the Run of a member; nil until Run is called
	ended   bool          // Run has ended, or is about to end
	members map[string]*member
}

// A Member is what a Group runs. [Informer] and [MultiNamespace] are Members.
type Member interface {
	// Run works until ctx ends, and then returns. The group calls it once. If the member is stopped
	// before the group runs, the group calls Run with a ctx that has ended, so that a WaitForSync
	// of the member returns.
	Run(ctx context.Context) error

	// WaitForSync waits until the member has its first list, or until ctx ends. It may be called
	// before Run.
	WaitForSync(ctx context.Context) error
}

type member struct {
	Member
	name string
	stop context.CancelFunc // ends its Run; nil before Run was called
	left bool               // it is out of the group because of Stop, or because its Run has returned nil; guarded by Group.mu
	done chan struct{}      // closed when its Run has returned
}

// NewGroup returns a Group without members, which has not started.
func NewGroup() *Group { return &Group{members: map[string]*member{}} }

// Add adds a member under a name, which stands for it in errors, and in the attribute "member" of
// the log lines of an [Informer] or a [MultiNamespace]. If the group runs, the member starts
// immediately, otherwise with the group. Add returns an error if the group has a member of that
// name. If the group has ended or is about to end, the error satisfies errors.Is with [ErrStopped].
func (g *Group) Add(name string, m Member) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.ended:
		return fmt.Errorf("informer: add %q to the group: %w", name, ErrStopped)
	case g.members[name] != nil:
		return fmt.Errorf("informer: add %q to the group: it has a member of this name; stop that one first, or choose another name", name)
	}
	if m, ok := m.(interface{ setName(name string) }); ok {
		m.setName(name)
	}
	added := &member{Member: m, name: name, done: make(chan struct{})}
	g.members[name] = added
	if g.start != nil {
		g.start(added)
	}
	return nil
}

// Run runs all members until ctx ends, and returns ctx.Err(). If a member's Run returns an error
// before that, Run stops the other members, and returns an error that names the member and wraps
// its error. If a member's Run returns nil, the group keeps running without it, and a member with
// its name can be added again. When Run returns, the Run of every member has returned.
//
// A group runs once: a second Run returns [ErrStarted].
func (g *Group) Run(ctx context.Context) error {
	inner, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var runs sync.WaitGroup
	started := g.begin(func(m *member) {
		own, stop := context.WithCancel(inner)
		m.stop = stop
		runs.Go(func() { g.run(own, m, fail) })
	})
	if !started {
		return ErrStarted
	}
	<-inner.Done()
	g.end()
	runs.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	return context.Cause(inner)
}

// begin starts the members that were added, by start, and lets Add do so from then on. It returns
// false if Run was called before.
func (g *Group) begin(start func(*member)) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.start != nil {
		return false
	}
	g.start = start
	for _, m := range g.byName() {
		start(m)
	}
	return true
}

func (g *Group) run(ctx context.Context, m *member, fail context.CancelCauseFunc) {
	goexit.Run(func() error { return m.Run(ctx) }, func(err error) {
		asked := ctx.Err() != nil // Stop was called, or the group ends
		m.stop()
		g.remove(m, err)
		if err != nil && !asked {
			fail(fmt.Errorf("informer: %s: %w", m.name, err))
		}
		close(m.done)
	})
}

// remove takes a member out of the group after its Run has returned err. Another member may have
// its name by now.
func (g *Group) remove(m *member, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	m.left = m.left || err == nil
	if g.members[m.name] == m {
		delete(g.members, m.name)
	}
}

// end refuses new members.
func (g *Group) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
}

// Stop ends the Run of a member, and waits until it has returned. If ctx ends first, Stop returns
// ctx.Err(), and the member ends nevertheless. When Stop is called, the name becomes free: another
// member can be added under it. If the group has no such member, Stop returns nil. If the member
// has not started, Stop ends it, too, as [Member] says. To stop all members, end the context of
// [Group.Run].
//
// A callback of a member must not stop that member, because Stop would wait for the callback until
// ctx ends.
func (g *Group) Stop(ctx context.Context, name string) error {
	m := g.take(ctx, name)
	if m == nil {
		return nil
	}
	select {
	case <-m.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// take removes a member from the group, and ends its Run.
func (g *Group) take(ctx context.Context, name string) *member {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := g.members[name]
	if m == nil {
		return nil
	}
	delete(g.members, name)
	m.left = true
	if m.stop != nil {
		m.stop()
	} else {
		go m.endUnstarted(ctx)
	}
	return m
}

// endUnstarted ends a member whose Run was not called.
func (m *member) endUnstarted(ctx context.Context) {
	defer close(m.done)
	ended, end := context.WithCancel(ctx)
	end()
	_ = m.Run(ended) // the error says only that ctx has ended
}

// WaitForSync waits until every member that is in the group at the time of the call has synced. If
// ctx or the group ends first, it returns a [*LateError], which names the members that have not
// synced, and says for each what is in the way. WaitForSync does not wait for a member after Stop,
// or after the member's Run has returned nil. A program may call WaitForSync before Run.
func (g *Group) WaitForSync(ctx context.Context) error {
	all := g.all()
	var late []LateMember
	for _, m := range all {
		if err := m.WaitForSync(ctx); err != nil && !g.hasLeft(ctx, m) {
			late = append(late, LateMember{m.name, err})
		}
	}
	if late == nil {
		return nil
	}
	return &LateError{Of: len(all), Late: late, what: "members of the group"}
}

// all returns the members, sorted by name.
func (g *Group) all() []*member {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.byName()
}

// byName returns the members, sorted by name. It needs mu.
func (g *Group) byName() []*member {
	return slices.SortedFunc(maps.Values(g.members), func(a, b *member) int { return strings.Compare(a.name, b.name) })
}

// hasLeft reports whether a member that has not synced is out of the group. If its Run is about to
// return, hasLeft waits for that.
func (g *Group) hasLeft(ctx context.Context, m *member) bool {
	if ctx.Err() == nil {
		select {
		case <-m.done:
		case <-ctx.Done():
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return m.left
}

// MemberStatus is the status of a member of a [Group], or of a namespace of a [MultiNamespace].
type MemberStatus struct {
	Name      string // of the member; "" in the status of a MultiNamespace
	Namespace string // of a MultiNamespace; otherwise ""
	reflector.Status
}

// Status says how fresh the copies of the members are, and what keeps them from being fresher: see
// [Informer.Status]. It is sorted by name, and then by namespace. A Member of another type is in
// the Status if it has the method Status of an [Informer] or a [MultiNamespace], and otherwise it
// is left out.
func (g *Group) Status() []MemberStatus {
	var all []MemberStatus
	for _, m := range g.all() {
		all = append(all, statusOf(m.name, m.Member)...)
	}
	return all
}

func statusOf(name string, m Member) []MemberStatus {
	var all []MemberStatus
	switch m := m.(type) {
	case interface{ Status() reflector.Status }:
		all = append(all, MemberStatus{Name: name, Status: m.Status()})
	case interface{ Status() []MemberStatus }:
		for _, s := range m.Status() {
			s.Name = name
			all = append(all, s)
		}
	}
	return all
}
