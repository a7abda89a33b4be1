package lease

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/controller/writer"
	"github.com/relist-go/relist/internal/goexit"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

// rig is a process that shares a Lease.
type rig struct {
	*Lease

	t      *testing.T
	log    bytes.Buffer
	wall   atomic.Int64 // what its wall clock says beside the steady one
	writes *writer.Writer[*configMap]
}

type configMap struct {
	metav1.ObjectMeta `json:"metadata"`

	Data map[string]string `json:"data,omitempty"`
}

func newRig(t *testing.T, server string, dial func(ctx context.Context, network, addr string) (net.Conn, error)) *rig {
	t.Helper()
	client, err := transport.NewClient(transport.Config{Server: server, Dial: dial})
	must.OK(t, err)
	t.Cleanup(client.Close)
	r := &rig{t: t}
	logger := slog.New(slog.NewTextHandler(&r.log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	if r.Lease, err = New(client, Options{Namespace: "default", Name: "work", Logger: logger}); err != nil {
		t.Fatal(err)
	}
	r.rand = func() float64 { return 0.5 }
	r.now = func() (steady, wall time.Time) {
		now := time.Now()
		return now, now.Round(0).Add(time.Duration(r.wall.Load()))
	}
	if r.writes, err = writer.New[*configMap](client, object.Type{Version: "v1", Resource: "configmaps", Kind: "ConfigMap"}, writer.Options{}); err != nil {
		t.Fatal(err)
	}
	return r
}

// lead begins a Lead. Each term is sent, and lasts until its context ends.
func (r *rig) lead() (terms chan context.Context, stop func()) {
	ctx, cancel := context.WithCancel(r.t.Context())
	terms, ended := make(chan context.Context, 10), make(chan error, 1)
	go func() {
		ended <- r.Lead(ctx, func(ctx context.Context) error {
			terms <- ctx
			<-ctx.Done()
			return nil
		})
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			r.t.Errorf("Lead returned %v", err)
		}
	})
	r.t.Cleanup(stop)
	return terms, stop
}

// spec returns the Lease as the server has it.
func spec(t *testing.T, server *apitest.Server) map[string]any {
	t.Helper()
	obj, err := server.Get("leases.coordination.k8s.io", "default", "work")
	must.OK(t, err)
	return obj["spec"].(map[string]any) //nolint:forcetypeassert // it is a Lease
}

// The object is one that client-go and kubectl understand, and a lease that is released is taken
// with the next look at it.
func TestLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, listener := apitest.StartInMemory(t, apitest.Options{})
		first, second := newRig(t, listener.URL, listener.Dial), newRig(t, listener.URL, listener.Dial)
		began := time.Now().UTC()
		terms, stop := first.lead()
		<-terms
		others, _ := second.lead()
		<-time.After(59 * time.Second)
		got := spec(t, server)
		if got["holderIdentity"] != first.identity || got["leaseDurationSeconds"] != int64(15) || got["leaseTransitions"] != int64(0) ||
			got["acquireTime"] != began.Format(metav1.RFC3339Micro) || got["renewTime"] != began.Add(57*time.Second+500*time.Millisecond).Format(metav1.RFC3339Micro) {
			t.Errorf("%v", got)
		}
		before := time.Now()
		stop()
		if got := spec(t, server); got["holderIdentity"] != "" || got["leaseDurationSeconds"] != int64(1) {
			t.Errorf("released: %v", got)
		}
		<-others
		if took := time.Since(before); took > time.Second {
			t.Errorf("the released lease was taken after %v", took)
		}
		if got := spec(t, server); got["holderIdentity"] != second.identity || got["leaseTransitions"] != int64(1) {
			t.Errorf("taken: %v", got)
		}
	})
}

// Whoever had the lease has gone. It lasts as long as it says, from when it was first seen,
// whatever times it has.
func TestTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, listener := apitest.StartInMemory(t, apitest.Options{})
		_, err := server.Create("leases.coordination.k8s.io", map[string]any{
			"metadata": map[string]any{"namespace": "default", "name": "work"},
			"spec":     map[string]any{"holderIdentity": "somebody", "leaseDurationSeconds": 40, "renewTime": "2001-02-03T04:05:06.000000Z"},
		})
		must.OK(t, err)
		terms, _ := newRig(t, listener.URL, listener.Dial).lead()
		began := time.Now()
		<-time.After(20 * time.Second)
		if _, err := server.Delete("leases.coordination.k8s.io", "default", "work"); err != nil {
			t.Fatal(err)
		}
		<-terms
		if took := time.Since(began); took != 40*time.Second {
			t.Errorf("taken after %v", took)
		}
	})
}

// A restored backup has the lease of a process that has lost it since, and that does not work again
// before the last holder stops.
func TestTakenFromTheLastHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, listener := apitest.StartInMemory(t, apitest.Options{})
		first, second := newRig(t, listener.URL, listener.Dial), newRig(t, listener.URL, listener.Dial)
		terms, stop := first.lead()
		<-terms
		_, version, err := server.List("leases.coordination.k8s.io", "default")
		must.OK(t, err)
		stop()
		others, _ := second.lead()
		last := <-others
		terms, _ = first.lead()
		<-time.After(2600 * time.Millisecond)
		must.OK(t, server.Restore(apitest.Restore{ResourceVersion: version}))
		<-terms
		if last.Err() == nil {
			t.Error("two of them work")
		}
	})
}

// After the time of the lease no write begins, although no timer has rung: the machine has slept.
// Setting the wall clock back prolongs nothing.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		server, listener := apitest.StartInMemory(t, apitest.Options{Log: func(l apitest.LoggedRequest) {
			if strings.Contains(l.URI, "configmaps") {
				requests++
			}
		}})
		r := newRig(t, listener.URL, listener.Dial)
		terms, _ := r.lead()
		ctx := <-terms
		write := func(name string) error {
			_, err := r.writes.Create(ctx, &configMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}})
			return err
		}
		if err := write("a"); err != nil {
			t.Error(err)
		}
		r.wall.Add(int64(time.Hour))
		err := write("b")
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "lease default/work: this process no longer leads, so no write begins: it was not renewed within 10s") {
			t.Errorf("the write was refused with %v", err)
		}
		if ctx.Err() == nil || requests != 1 {
			t.Errorf("the context has %v, and the server has had %d requests", ctx.Err(), requests)
		}

		ctx = <-terms // the server still has this process as the leader
		began := time.Now()
		r.wall.Add(-2 * int64(time.Hour))
		must.OK(t, server.Refuse(time.Hour))
		<-ctx.Done()
		if lasted := time.Since(began); lasted > 10*time.Second {
			t.Errorf("the term has lasted for %v", lasted)
		}
		server.ClearFaults()
	})
}

// The lease is released when the last Lead ends, and when no write is under way.
func TestRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, listener := apitest.StartInMemory(t, apitest.Options{})
		r := newRig(t, listener.URL, listener.Dial)
		terms, stop := r.lead()
		ctx := <-terms
		others, stopOther := r.lead()
		<-others
		held, err := server.Hold("create")
		must.OK(t, err)
		go func() { // it does not end with the context
			_, _ = r.writes.Create(context.WithoutCancel(ctx), &configMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}})
		}()
		<-held
		stop()
		if got := spec(t, server); got["holderIdentity"] != r.identity {
			t.Errorf("there is another Lead, and the lease is %v", got)
		}
		ended := make(chan struct{})
		go func() { stopOther(); close(ended) }()
		synctest.Wait()
		if got := spec(t, server); got["holderIdentity"] != r.identity {
			t.Errorf("a write is under way, and the lease is %v", got)
		}
		must.OK(t, server.Resume())
		<-ended
		if got := spec(t, server); got["holderIdentity"] != "" {
			t.Errorf("nobody leads, and the lease is %v", got)
		}
		again, _ := r.lead()
		<-again
	})
}

// A Lead that begins while the lease is released gets it afterwards, and keeps it.
func TestLeadDuringRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, listener := apitest.StartInMemory(t, apitest.Options{})
		r := newRig(t, listener.URL, listener.Dial)
		terms, stop := r.lead()
		ctx := <-terms
		held, err := server.Hold("create")
		must.OK(t, err)
		go func() { // it does not end with the context
			_, _ = r.writes.Create(context.WithoutCancel(ctx), &configMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}})
		}()
		<-held
		go stop()
		synctest.Wait()
		again, _ := r.lead()
		synctest.Wait()
		must.OK(t, server.Resume())
		ctx = <-again
		<-time.After(time.Second)
		if got := spec(t, server); ctx.Err() != nil || got["holderIdentity"] != r.identity {
			t.Errorf("this process leads, and the lease is %v", got)
		}
	})
}

// stoppable is the network of a process that can be stopped between the gate and the socket.
type stoppable struct {
	*apitest.Listener
	until atomic.Pointer[chan struct{}] // closed when the process runs
}

type stoppableConn struct {
	net.Conn
	of *stoppable
}

func (s *stoppable) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	<-*s.until.Load()
	c, err := s.Listener.Dial(ctx, network, addr)
	return stoppableConn{c, s}, err
}

func (c stoppableConn) Write(b []byte) (int, error) {
	<-*c.of.until.Load()
	return c.Conn.Write(b)
}

// A process that was stopped between the gate and the socket sends its write when it continues,
// long after its lease. If the write has the version that it begins from, the server refuses it.
func TestStoppedBehindTheGate(t *testing.T) {
	for name, condition := range map[string]bool{"without a condition": false, "with a resourceVersion": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, listener := apitest.StartInMemory(t, apitest.Options{})
				_, err := server.Create("configmaps", map[string]any{"metadata": map[string]any{"namespace": "default", "name": "a"}})
				must.OK(t, err)
				network, runs, again := &stoppable{Listener: listener}, make(chan struct{}), make(chan struct{})
				network.until.Store(&runs)
				close(runs)
				old := newRig(t, listener.URL, network.Dial)
				terms, _ := old.lead()
				ctx := context.WithoutCancel(<-terms) // no timer rings while it is stopped
				have, err := old.writes.MergePatch(ctx, "default/a", map[string]any{"data": map[string]string{"by": "old"}})
				must.OK(t, err)
				patch := map[string]any{"data": map[string]string{"by": "old, late"}}
				if condition {
					patch["metadata"] = map[string]string{"resourceVersion": have.ResourceVersion}
				}
				network.until.Store(&again)
				result := make(chan error)
				go func() {
					_, err := old.writes.MergePatch(ctx, "default/a", patch)
					result <- err
				}()
				next := newRig(t, listener.URL, listener.Dial)
				taken, _ := next.lead()
				if _, err := next.writes.MergePatch(<-taken, "default/a", map[string]any{"data": map[string]string{"by": "new"}}); err != nil {
					t.Fatal(err)
				}
				close(again)
				err = <-result
				obj, _ := server.Get("configmaps", "default", "a")
				by := obj["data"].(map[string]any)["by"] //nolint:forcetypeassert // of a ConfigMap
				if condition && (!apierrors.IsConflict(err) || by != "new") || !condition && (err != nil || by != "old, late") {
					t.Errorf("the late write got %v, and the object is by %v", err, by)
				}
			})
		})
	}
}

// The log says who leads, and why no longer.
func TestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, listener := apitest.StartInMemory(t, apitest.Options{})
		r := newRig(t, listener.URL, listener.Dial)
		terms, stop := r.lead()
		<-terms
		must.OK(t, server.Refuse(14*time.Second))
		<-terms
		<-time.After(time.Second)
		_, err := server.Patch("leases.coordination.k8s.io", "default", "work", map[string]any{"spec": map[string]any{"holderIdentity": "a person"}})
		must.OK(t, err)
		<-terms
		stop()
		got := strings.ReplaceAll(r.log.String(), r.identity, "ME")
		want := `level=INFO msg="relist: became the leader" lease=default/work identity=ME transitions=0
level=WARN msg="relist: requests for the lease fail" lease=default/work leads=true error="patch leases.coordination.k8s.io default/work: patch http://localhost/apis/coordination.k8s.io/v1/namespaces/default/leases/work: dial memory: connect: connection refused"
level=WARN msg="relist: lost the lease" lease=default/work error="it was not renewed within 10s"
level=INFO msg="relist: became the leader" lease=default/work identity=ME transitions=0
level=WARN msg="relist: lost the lease" lease=default/work error="a person has it"
level=INFO msg="relist: became the leader" lease=default/work identity=ME transitions=1
level=INFO msg="relist: released the lease" lease=default/work
`
		if got != want {
			t.Errorf("got:\n%s", got)
		}
	})
}

// A Logger that ends its goroutine ends every Lead.
func TestGoexit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, listener := apitest.StartInMemory(t, apitest.Options{})
		r := newRig(t, listener.URL, listener.Dial)
		r.Lease.log = slog.New(exits{slog.DiscardHandler})
		if err := r.Lead(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return nil }); !errors.Is(err, goexit.Err) {
			t.Errorf("Lead returned %v", err)
		}
	})
}

type exits struct{ slog.Handler }

func (exits) Enabled(context.Context, slog.Level) bool { runtime.Goexit(); return false }

// A Logger that waits keeps no term from ending.
func TestLoggerThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, listener := apitest.StartInMemory(t, apitest.Options{})
		r := newRig(t, listener.URL, listener.Dial)
		free := make(chan struct{})
		r.Lease.log = slog.New(waits{slog.DiscardHandler, free})
		terms, _ := r.lead()
		began := time.Now()
		<-(<-terms).Done()
		if lasted := time.Since(began); lasted != 10*time.Second {
			t.Errorf("the term has lasted for %v", lasted)
		}
		close(free)
	})
}

type waits struct {
	slog.Handler
	free chan struct{}
}

func (w waits) Enabled(context.Context, slog.Level) bool { <-w.free; return false }

// A Lead ends with what its function returns, if the term lasts.
func TestLeadReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, listener := apitest.StartInMemory(t, apitest.Options{})
		want := errors.New("no more work")
		if err := newRig(t, listener.URL, listener.Dial).Lead(t.Context(), func(context.Context) error { return want }); !errors.Is(err, want) {
			t.Errorf("Lead returned %v", err)
		}
		if got := spec(t, server); got["holderIdentity"] != "" {
			t.Errorf("%v", got)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	client, err := transport.NewClient(transport.Config{Server: "http://localhost"})
	must.OK(t, err)
	for want, opts := range map[string]Options{
		"set the Namespace and the Name": {Name: "work"},
		"the Duration is -1s":            {Namespace: "default", Name: "work", Duration: -time.Second},
	} {
		if _, err := New(client, opts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
