package informer

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
)

// A Pool lets the parts of a program share informers. Each part leases the resource that it needs. Parts that lease the same
// thing share one informer, with one watch and one store:
//
//	pool := informer.NewPool(informer.PoolOptions{})
//	pods, err := informer.Lease(pool, resource) // resource is a *listwatch.Resource[*Pod]
//	_, err = pods.AddHandler(handler)
//	err = pool.Run(ctx)
//	err = pods.Release(ctx) // when this part needs no Pods any more
//
// Two Resources are the same thing if their [listwatch.Resource.Identity] is equal: client, type, resource, namespace,
// selectors and options. All methods may be called from any goroutine.
type Pool struct {
	opts  PoolOptions
	group *Group

	mu     sync.Mutex
	shared map[listwatch.Identity]*shared
}

// PoolOptions are the options of a Pool, and of every informer in it. The zero value is ready.
type PoolOptions struct {
	// Reflector configures how each informer lists and watches. Its Trace is told of all informers.
	Reflector reflector.Options

	// Trace returns one more Trace for an informer, such as one that counts for this informer alone. name is the name of the
	// informer in errors, such as "pods in shop". If Trace is nil, or returns nil, the informer has no trace. If two goroutines lease one
	// resource at the same time, Trace may be called twice, and one of its results is used.
	Trace func(name string) *reflector.Trace

	// Logger gets lines of every informer, see [Options.Logger].
	Logger *slog.Logger

	// Problem is called as [Options.Problem] is, with the name of the informer. If nil, the first panic ends the informer.
	Problem func(name string, err error)

	// Ended is called if an informer ends with an error, as [GroupOptions.Ended] says. Its leases can no longer be used: their
	// methods return [ErrStopped]. The next Lease makes a new informer. If Ended is nil, such an error ends the pool.
	Ended func(name string, err error)
}

// shared is an informer of a Pool.
type shared struct {
	name     string
	informer Member      // an *Informer[T]; the Identity has the T
	stopped  func() bool // of the informer: true as soon as one of its methods returns ErrStopped
	leases   int
}

// NewPool returns a Pool without informers, which has not started.
func NewPool(opts PoolOptions) *Pool {
	p := &Pool{opts: opts, shared: map[listwatch.Identity]*shared{}}
	group := GroupOptions{}
	if opts.Ended != nil {
		group.Ended = func(name string, err error) {
			p.forget(name)
			opts.Ended(name, err)
		}
	}
	p.group = NewGroup(group)
	return p
}

// Run runs the informers of the pool until ctx ends, as [Group.Run] does.
func (p *Pool) Run(ctx context.Context) error { return p.group.Run(ctx) }

// WaitForSync waits until every informer of the pool has synced, as [Group.WaitForSync] does.
func (p *Pool) WaitForSync(ctx context.Context) error { return p.group.WaitForSync(ctx) }

// A Leased is an informer that a part of a program shares with others. It has the methods of the informer. Run returns
// [ErrStarted], because the pool runs the informer.
type Leased[T object.Object] struct {
	*Informer[T]

	pool *Pool
	id   listwatch.Identity
	of   *shared

	mu       sync.Mutex
	released bool
	added    []*Registration
}

// Lease returns the informer of a resource. If nobody else has leased it, Lease makes the informer, which starts at once if the
// pool runs, and otherwise with the pool. If the pool has ended or is about to end, the error satisfies errors.Is with
// [ErrStopped].
func Lease[T object.Object](p *Pool, resource *listwatch.Resource[T]) (*Leased[T], error) {
	id := resource.Identity()
	var made *shared
	for {
		of, free, err := p.join(id, made)
		switch {
		case err != nil:
			return nil, err
		case of != nil:
			return &Leased[T]{Informer: of.informer.(*Informer[T]), pool: p, id: id, of: of}, nil
		}
		in := New(resource, optionsOf[T](p.opts, free)) // without the lock, because it calls PoolOptions.Trace
		made = &shared{name: free, informer: in, stopped: in.IsStopped}
	}
}

// join adds a lease to the informer of id, and returns the informer. If id has no informer, made becomes its informer. If that is not
// possible, because made is nil or its name is not free, join adds no lease, and returns a name that is free.
func (p *Pool) join(id listwatch.Identity, made *shared) (of *shared, free string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of = p.shared[id]
	if of == nil || of.stopped() {
		free = p.freeName(id.String())
		if made == nil || made.name != free {
			return nil, free, nil
		}
		if err := p.group.Add(free, made.informer); err != nil {
			return nil, "", err
		}
		of = made
		p.shared[id] = of
	}
	of.leases++
	return of, "", nil
}

// freeName returns name, or name with a number if the pool has an informer of that name, also one that is about to end.
func (p *Pool) freeName(name string) string {
	taken := map[string]bool{}
	for _, of := range p.shared { // the order does not matter: they go into a map
		taken[of.name] = true
	}
	for _, running := range p.group.Names() {
		taken[running] = true
	}
	free := name
	for i := 2; taken[free]; i++ {
		free = fmt.Sprintf("%s #%d", name, i)
	}
	return free
}

func optionsOf[T object.Object](opts PoolOptions, name string) Options[T] {
	of := Options[T]{Reflector: opts.Reflector, Logger: opts.Logger}
	if opts.Trace != nil {
		of.Reflector.Trace = reflector.JoinTraces(opts.Reflector.Trace, opts.Trace(name))
	}
	if opts.Problem != nil {
		of.Problem = func(err error) { opts.Problem(name, err) }
	}
	return of
}

// AddHandler adds a handler, see [Informer.AddHandler]. Release removes it. After Release, AddHandler returns an error that
// satisfies errors.Is with [ErrStopped].
func (l *Leased[T]) AddHandler(h Handler[T]) (*Registration, error) {
	return l.add(h.Name, func() (*Registration, error) { return l.Informer.AddHandler(h) })
}

// Observe adds an observer, see [Informer.Observe]. Release removes it. After Release, the error is that of AddHandler.
func (l *Leased[T]) Observe(name string, observe func(Change[T])) (*Registration, error) {
	return l.add(name, func() (*Registration, error) { return l.Informer.Observe(name, observe) })
}

func (l *Leased[T]) add(name string, add func() (*Registration, error)) (*Registration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.released {
		return nil, fmt.Errorf("informer: add %q after Release: %w", name, ErrStopped)
	}
	r, err := add()
	if err == nil {
		l.added = append(l.added, r)
	}
	return r, err
}

// Release gives the lease back. It removes the handlers and observers that were added through this lease, and waits for their
// last callbacks. If this was the last lease of the informer, Release stops the informer and waits for its end. If ctx ends
// first, Release returns ctx.Err(), and all of this happens nevertheless. A second Release does nothing.
//
// A callback of the informer must not call Release, because Release would wait for the callback until ctx ends.
func (l *Leased[T]) Release(ctx context.Context) error {
	l.mu.Lock()
	again := l.released
	l.released = true
	added := l.added
	l.added = nil
	l.mu.Unlock()
	if again {
		return nil
	}
	for _, r := range added {
		r.Cancel()
	}
	last := l.pool.giveBack(ctx, l.id, l.of)
	for _, r := range added {
		if err := r.Remove(ctx); err != nil {
			return err
		}
	}
	if last == nil {
		return nil
	}
	return last.await(ctx)
}

// giveBack ends a lease. If it was the last one of the informer, giveBack tells the informer to end, and returns it.
func (p *Pool) giveBack(ctx context.Context, id listwatch.Identity, of *shared) *member {
	p.mu.Lock()
	defer p.mu.Unlock()
	of.leases--
	if of.leases > 0 || p.shared[id] != of {
		return nil
	}
	delete(p.shared, id)
	return p.group.take(ctx, of.name)
}

// forget drops an informer that has ended with an error.
func (p *Pool) forget(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, of := range p.shared { // the order does not matter: only one has this name
		if of.name == name && of.stopped() { // otherwise it is a later one, which has got the name meanwhile
			delete(p.shared, id)
		}
	}
}

// Leases returns the number of leases of each informer, by its name.
func (p *Pool) Leases() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	counts := make(map[string]int, len(p.shared))
	for _, of := range p.shared { // the order does not matter: they go into a map
		counts[of.name] = of.leases
	}
	return counts
}
