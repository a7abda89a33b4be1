package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"
)

// A client whose connection is moved, 200 times, between an API server and one that
// was frozen in the past sees no version of an object after a later one, and nothing
// that was deleted comes back. Afterwards it has what the server has.
func TestMovedBetweenReplicas(t *testing.T) {
	t.Parallel()
	few := min(10, *seeds)
	for s := range uint64(few) {
		synctest.Test(t, func(t *testing.T) { moveAround(t, s+1) })
	}
}

func moveAround(t *testing.T, seed uint64) {
	const moves = 200
	r := dice(seed, 0)
	srv := apitest.New(apitest.Options{})
	net := serveMemory(t, srv)
	t.Cleanup(func() { _ = srv.Close() })
	w := &writer{t: t, rand: dice(seed, 1), srv: srv}
	for range 20 {
		w.write()
	}
	old := srv.Replica("old")
	lw := configMaps(t, transport.Config{Server: "http://relist.test", Dial: net.dial})
	var n counts
	cut := 0
	m := startMirror(t, lw, reflector.Options{
		Rand:    dice(seed, 2).Float64,
		Initial: []reflector.InitialList{reflector.FromCache, reflector.Streaming}[seed%2],
		Trace:   telling(t, &n),
	})
	for move := range moves {
		if move%10 == 0 { // the one in the past is frozen somewhere else
			old.Unfreeze()
			m.settle(srv, 10*time.Minute)
			old.Freeze()
		}
		for range r.IntN(10) {
			w.write()
			<-time.After(time.Duration(r.Int64N(int64(3 * time.Second))))
		}
		if r.IntN(3) == 0 { // so that lists are asked for, too
			srv.Compact()
		}
		srv.Route([]*apitest.Replica{srv.Replica(""), old}[r.IntN(2)])
		cut += srv.CutWatches(0)
		if r.IntN(10) == 0 { // the program begins again at the same place
			m.halt()
			m.start()
		}
		<-time.After(time.Duration(r.Int64N(int64(30 * time.Second))))
	}
	srv.Route(srv.Replica(""))
	old.Unfreeze()
	m.settle(srv, 10*time.Minute)
	m.checkHistory()
	deltas, inferred := m.told()
	t.Logf("seed %d: %d deltas, %d inferred deletions, %d relists, %d watches cut", seed, deltas, inferred, n.relists, cut)
	if deltas < 300 || n.relists < 10 || cut < moves/4 {
		t.Errorf("seed %d: %d deltas, %d relists and %d watches cut show nothing", seed, deltas, n.relists, cut)
	}
}

// writer changes ConfigMaps at random.
type writer struct {
	t    *testing.T
	rand *rand.Rand
	srv  *apitest.Server
	n    int
}

func (w *writer) write() {
	w.t.Helper()
	name := fmt.Sprintf("c%02d", w.rand.IntN(15))
	w.n++
	obj := named(name, map[string]any{"n": fmt.Sprint(w.n)})
	var err error
	if w.rand.IntN(4) == 0 {
		_, err = w.srv.Delete("configmaps", "default", name)
	} else if _, err = w.srv.Create("configmaps", obj); apierrors.IsAlreadyExists(err) {
		_, err = w.srv.Update("configmaps", obj)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		w.t.Fatal(err)
	}
}

// live writes until the end of ctx.
func (w *writer) live(ctx context.Context, pause time.Duration) {
	for pass(ctx, time.Duration(w.rand.ExpFloat64()*float64(pause))) == nil {
		w.write()
	}
}
