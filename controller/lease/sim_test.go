package lease

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/internal/writes"
	"github.com/relist-go/relist/transport"
)

var (
	seeds = flag.Uint64("seeds", 500, "how many seeds the simulation of a lease runs")
	one   = flag.Uint64("seed", 0, "the one seed to run; 0 for all")
)

// world is a server with one Lease, the network, and the processes that share the Lease.
type world struct {
	t    *testing.T
	rand *rand.Rand // of the adversary

	mu      sync.Mutex
	net     *rand.Rand
	lease   *record // nil: none
	version int
	away    bool
	slow    bool
	procs   []*process
	latest  int    // number of the newest session that has written
	count   *tally // of all seeds
}

type tally struct{ terms, passes, refused, pauses, released int }

// process is a program with a leader. Its clock, its network and its scheduler have faults.
type process struct {
	*world

	name   string
	lease  *Lease
	client *transport.Client
	stop   context.CancelFunc
	ended  chan error
	offset atomic.Int64 // of its wall clock
	rate   float64      // of its clocks
	began  time.Time
	dice   *rand.Rand

	// Guarded by world.mu:
	lostRequests, lostAnswers bool
	frozen                    chan struct{} // not nil while it does not run; closed when it continues
	dead                      bool
}

// thaw waits while the process is stopped.
func (p *process) thaw() {
	for {
		p.mu.Lock()
		frozen := p.frozen
		p.mu.Unlock()
		if frozen == nil {
			return
		}
		<-frozen
	}
}

// clocks are those of the process.
func (p *process) clocks() (steady, wall time.Time) {
	steady = p.began.Add(time.Duration(p.rate * float64(time.Since(p.began))))
	return steady, steady.Round(0).Add(time.Duration(p.offset.Load()))
}

// RoundTrip carries a request to the server and the answer back. A request that was cut off may
// still arrive.
func (p *process) RoundTrip(req *http.Request) (*http.Response, error) {
	p.thaw()
	body := []byte(nil)
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
	}
	p.mu.Lock()
	there, back := p.delay(6), p.delay(2)
	lost, away := p.lostRequests, p.away
	p.mu.Unlock()
	if away {
		return nil, errors.New("connection refused")
	}
	answer := make(chan *http.Response, 1)
	if !lost {
		time.AfterFunc(there, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			resp := p.serve(req, body)
			if !p.lostAnswers {
				time.AfterFunc(back, func() { answer <- resp })
			}
		})
	}
	select {
	case resp := <-answer:
		p.thaw()
		return resp, nil
	case <-req.Context().Done():
		p.thaw()
		return nil, req.Context().Err()
	}
}

// delay is how long a request or an answer takes. Some of them are slow.
func (w *world) delay(some int) time.Duration {
	if w.slow && w.net.IntN(some) == 0 {
		return time.Duration(w.net.IntN(5500)) * time.Millisecond
	}
	return time.Duration(1+w.net.IntN(40)) * time.Millisecond
}

// serve does what an API server does with a Lease.
func (w *world) serve(req *http.Request, body []byte) *http.Response {
	status := func(code int, reason string) *http.Response {
		return answer(req, code, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason})
	}
	var next record
	switch {
	case req.Method == http.MethodPost && w.lease != nil:
		return status(http.StatusConflict, "AlreadyExists")
	case req.Method != http.MethodPost && w.lease == nil:
		return status(http.StatusNotFound, "NotFound")
	case req.Method == http.MethodGet:
		return answer(req, http.StatusOK, w.lease)
	case req.Method == http.MethodPatch:
		next = *w.lease
	}
	if err := json.Unmarshal(body, &next); err != nil {
		w.t.Error(err)
	}
	if w.lease != nil && next.ResourceVersion != w.lease.ResourceVersion {
		return status(http.StatusConflict, "Conflict")
	}
	w.version++
	next.ResourceVersion, next.UID = strconv.Itoa(w.version), "1"
	if next.Spec.Holder == "" {
		w.count.released++
	}
	w.lease = &next
	return answer(req, http.StatusOK, w.lease)
}

func answer(req *http.Request, code int, obj any) *http.Response {
	text, _ := json.Marshal(obj)
	var all map[string]any
	_ = json.Unmarshal(text, &all)
	if code == http.StatusOK {
		all["kind"], all["apiVersion"] = "Lease", "coordination.k8s.io/v1"
	}
	text, _ = json.Marshal(all)
	return &http.Response{
		StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text)),
	}
}

// anHour is how wrong a clock is, at most.
func (w *world) anHour() int64 { return int64(time.Duration(w.rand.IntN(7200)-3600) * time.Second) }

// start starts a process in a slot.
func (w *world) start(i int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := &process{
		world: w, began: time.Now(), rate: 0.9 + 0.3*w.rand.Float64(), ended: make(chan error, 1), dice: rand.New(rand.NewPCG(w.rand.Uint64(), 1)),
	}
	p.offset.Store(w.anHour())
	var err error
	if p.client, err = transport.NewClient(transport.Config{Server: "http://localhost", RoundTripper: p}); err != nil {
		w.t.Fatal(err)
	}
	if p.lease, err = New(p.client, Options{Namespace: "default", Name: "work", Logger: slog.New(slog.DiscardHandler)}); err != nil {
		w.t.Fatal(err)
	}
	var dice sync.Mutex
	p.lease.now = p.clocks
	p.lease.rand = func() float64 { dice.Lock(); defer dice.Unlock(); return p.dice.Float64() }
	p.name = fmt.Sprintf("%d(%s)", i, p.lease.identity[len(p.lease.identity)-4:])
	var ctx context.Context
	ctx, p.stop = context.WithCancel(w.t.Context())
	seed := w.rand.Uint64()
	go func() {
		p.ended <- p.lease.Lead(ctx, func(ctx context.Context) error { p.lead(ctx, rand.New(rand.NewPCG(seed, 2))); return nil })
	}()
	w.procs[i] = p
}

// lead writes until the term is over. A write begins when the gate has let it.
func (p *process) lead(ctx context.Context, dice *rand.Rand) {
	session := 0
	for ctx.Err() == nil {
		p.thaw()
		err := writes.Do(ctx, writes.Write{}, func(*writes.Write) error {
			p.passes(&session)
			wait(ctx, time.Duration(dice.IntN(300))*time.Millisecond)
			return nil
		})
		p.mu.Lock()
		if err != nil {
			p.count.refused++
			if !errors.Is(err, context.Canceled) || ctx.Err() == nil {
				p.t.Errorf("a write was refused with %v, and the context has %v", err, ctx.Err())
			}
		}
		p.mu.Unlock()
		wait(ctx, time.Duration(dice.IntN(500))*time.Millisecond)
	}
	// A function that takes its time to see that the context has ended.
	<-time.After(time.Duration(dice.IntN(200)) * time.Millisecond)
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// passes is called when the gate has let a write begin: nobody may have led since this session
// began, and no other gate may be open now.
func (p *process) passes(session *int) {
	p.mu.Lock()
	if p.dead {
		p.mu.Unlock()
		return
	}
	p.count.passes++
	if *session == 0 {
		p.latest++
		p.count.terms++
		*session = p.latest
	}
	if *session != p.latest {
		p.t.Errorf("%v: %s writes in its session %d, and session %d has begun", time.Now(), p.name, *session, p.latest)
	}
	others := append([]*process(nil), p.procs...)
	p.mu.Unlock()
	for _, o := range others {
		if o != p && o.open() {
			p.t.Errorf("%v: %s writes, and the gate of %s is open", time.Now(), p.name, o.name)
		}
	}
}

// open reports whether the gate of a process would let a write begin now, if it ran.
func (p *process) open() bool {
	p.mu.Lock()
	stopped := p.frozen != nil
	p.mu.Unlock()
	if stopped {
		return false
	}
	p.lease.mu.Lock()
	e := p.lease.latest
	p.lease.mu.Unlock()
	if e == nil {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.term != nil && e.term.left() > 0
}

func (p *process) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (p *process) freeze() { p.set(func() { p.frozen = make(chan struct{}) }) }

func (p *process) unfreeze() {
	p.set(func() {
		if p.frozen != nil {
			close(p.frozen)
			p.frozen = nil
		}
	})
}

// end ends a process as SIGTERM does.
func (p *process) end() {
	p.stop()
	if err := <-p.ended; !errors.Is(err, context.Canceled) {
		p.t.Error(err)
	}
	p.client.Close()
}

// kill ends a process as SIGKILL does: it releases nothing.
func (p *process) kill() {
	p.set(func() { p.dead, p.lostRequests = true, true })
	p.unfreeze()
	p.end()
}

// adversary does one thing to the world.
func (w *world) adversary() {
	i := w.rand.IntN(len(w.procs))
	p := w.procs[i]
	switch w.rand.IntN(12) {
	case 0:
		p.set(func() { p.lostRequests = !p.lostRequests })
	case 1:
		p.set(func() { p.lostAnswers = !p.lostAnswers })
	case 2:
		p.set(func() { p.lostRequests, p.lostAnswers = true, true })
	case 3, 4:
		if p.frozen == nil {
			w.count.pauses++
			p.freeze()
		} else {
			p.unfreeze()
		}
	case 5:
		p.set(func() { w.away = !w.away })
	case 6:
		p.set(func() { w.slow = true })
		<-time.After(time.Duration(w.rand.IntN(12000)) * time.Millisecond)
		p.set(func() { w.slow, p.lostRequests = w.rand.IntN(2) == 0, true })
	case 7:
		p.kill()
		w.start(i)
	case 8:
		if p.frozen == nil {
			p.end()
			w.start(i)
		}
	case 9: // somebody sets its clock
		p.set(func() { p.offset.Add(w.anHour()) })
	default:
		w.heal()
	}
}

func (w *world) heal() {
	w.mu.Lock()
	w.away, w.slow = false, false
	w.mu.Unlock()
	for _, p := range w.procs {
		p.set(func() { p.lostRequests, p.lostAnswers = false, false })
		p.unfreeze()
	}
}

// Whatever the network, the clocks and the schedulers do: no two processes are at work at once, and
// when the faults are over, somebody is.
func TestNeverTwo(t *testing.T) {
	first, last := uint64(1), *seeds
	if testing.Short() {
		last = min(last, 10)
	}
	if *one != 0 {
		first, last = *one, *one
	}
	var total tally
	for seed := first; seed <= last && !t.Failed(); seed++ {
		synctest.Test(t, func(t *testing.T) {
			w := &world{t: t, rand: rand.New(rand.NewPCG(seed, 0)), net: rand.New(rand.NewPCG(seed, 1)), count: &total}
			w.procs = make([]*process, 2+w.rand.IntN(2))
			for i := range w.procs {
				w.start(i)
			}
			for range 15 {
				<-time.After(time.Duration(w.rand.IntN(12000)) * time.Millisecond)
				w.adversary()
			}
			w.heal()
			// A request that hangs, the Duration by the slowest clock, and a poll.
			<-time.After(5*time.Second + 17*time.Second + 2*time.Second)
			leads := 0
			for _, p := range w.procs {
				if p.open() {
					leads++
				}
			}
			if leads != 1 {
				t.Errorf("%d processes lead after all faults have gone", leads)
			}
			for _, p := range w.procs {
				p.end()
			}
			if t.Failed() {
				t.Logf("seed %d", seed)
			}
		})
	}
	t.Logf("%+v", total)
	if n := int(last - first); total.terms < n || total.refused < n/50 || total.pauses < n || total.released < n/2 {
		t.Errorf("too little has happened: %+v", total)
	}
}
