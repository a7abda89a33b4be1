// Package relay_test has readers of relist and of client-go behind relays that come and go.
package relay_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/test/conformance/command"
	"github.com/relist-go/relist/transport"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

var (
	rounds = flag.Int("rounds", 4, "how many rounds TestRounds plays")
	seed   = flag.Uint64("seed", 1, "of TestRounds")
)

func TestMain(m *testing.M) { command.Main(m) }

// TestRounds has two processes of `relist relay` behind one port, and readers of both kinds that
// know the port alone. In each round something happens to a relay or to the server while objects
// change. Afterwards every reader's copy is the server's, and a relay that was started anew has
// listed nothing.
//
//	go test ./relay -run TestRounds -rounds=100    # in test/conformance
func TestRounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.copies = w.readers()
	for round := range *rounds {
		w.awaitWindows()
		w.forget()
		what := w.round(round)
		began := time.Now()
		w.settle(fmt.Sprintf("round %d, %s", round, what))
		lists := w.lists()
		t.Logf("round %d: %s; the same after %v; the relays have listed %d times", round, what, time.Since(began).Round(10*time.Millisecond), lists)
		w.total[what] = append(w.total[what], lists)
		if lists > 0 && strings.HasPrefix(what, "relay") {
			t.Errorf("round %d, %s: the relays have listed %d times: %q", round, what, lists, w.requests)
		}
	}
	for what, lists := range w.total { // a line for each
		t.Logf("%s: %d rounds, %v lists", what, len(lists), lists)
	}
}

// world is a server, and two relays behind a port.
type world struct {
	*testing.T
	r      *rand.Rand
	server *apitest.Server
	relays [2]*relayProcess
	port   string
	copies []func() []string
	total  map[string][]int
	n      int

	mu       sync.Mutex
	requests []string // of the relays' own, since forget
}

type relayProcess struct {
	args    []string
	address string
	dir     string
	running *command.Command
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, r: rand.New(rand.NewPCG(*seed, 0)), total: map[string][]int{}}
	w.server = apitest.New(apitest.Options{Log: func(l apitest.LoggedRequest) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.requests = append(w.requests, l.UserAgent+" "+l.URI)
	}})
	listener, err := w.server.Listen("127.0.0.1:0")
	must.OK(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	for range 20 {
		w.write()
	}
	for i := range w.relays {
		p := &relayProcess{address: free(t), dir: t.TempDir()}
		p.args = []string{"relay", "configmaps", "--server", listener.URL, "--anonymous", "--listen", p.address, "--dir", p.dir, "--save-every", "1s"}
		w.relays[i] = p
		w.start(p)
	}
	w.balance()
	return w
}

// free returns an address that is free now.
func free(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must.OK(t, err)
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// start starts a relay, and waits until it serves.
func (w *world) start(p *relayProcess) {
	w.Helper()
	p.running = command.Start(w.T, p.args...)
	p.running.Await(func(stdout []byte) (string, bool) { return "serving", strings.HasPrefix(string(stdout), "serving ") })
}

// balance serves the port: a connection goes to one of the relays that accept it.
func (w *world) balance() {
	l, err := new(net.ListenConfig).Listen(w.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		w.Fatal(err)
	}
	w.port = "http://" + l.Addr().String()
	w.Cleanup(func() { _ = l.Close() })
	go func() {
		for n := 0; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go w.pipe(conn, n)
		}
	}()
}

func (w *world) pipe(conn net.Conn, n int) {
	defer func() { _ = conn.Close() }()
	for i := range w.relays {
		back, err := new(net.Dialer).DialContext(w.Context(), "tcp", w.relays[(n+i)%2].address)
		if err != nil {
			continue
		}
		go func() {
			_, _ = io.Copy(back, conn) // an error is the end of the connection
			_ = back.Close()
		}()
		_, _ = io.Copy(conn, back)
		return
	}
}

// readers returns what the copies have: each a function that returns the keys and versions.
func (w *world) readers() (copies []func() []string) {
	w.Helper()
	for i, initial := range []reflector.InitialList{reflector.FromCache, reflector.Consistent, reflector.Streaming, reflector.FromCache, reflector.Consistent} {
		client, err := transport.NewClient(transport.Config{Server: w.port, UserAgent: "reader"})
		if err != nil {
			w.Fatal(err)
		}
		w.Cleanup(client.Close)
		lw, err := listwatch.New(client, configMaps, listwatch.Options[*listwatch.Raw]{})
		if err != nil {
			w.Fatal(err)
		}
		c := informer.New(lw, informer.Options[*listwatch.Raw]{
			Logger: slog.New(slog.DiscardHandler), Reflector: reflector.Options{Initial: initial},
		})
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { _ = c.Run(ctx) })
		w.Cleanup(func() { cancel(); running.Wait() })
		copies = append(copies, func() []string {
			have := []string{fmt.Sprint("relist ", i)}
			for _, o := range c.Store().List() {
				have = append(have, object.Key(o)+"@"+o.GetResourceVersion())
			}
			return have
		})
	}
	for i := range 3 {
		theirs := clientGo(w.T, &rest.Config{Host: w.port, UserAgent: "reader"})
		copies = append(copies, func() []string {
			have := []string{fmt.Sprint("client-go ", i)}
			for _, o := range theirs.List() {
				o := o.(object.Object)
				have = append(have, object.Key(o)+"@"+o.GetResourceVersion())
			}
			return have
		})
	}
	return copies
}

// write makes a change.
func (w *world) write() {
	w.Helper()
	w.n++
	name := fmt.Sprintf("c%02d", w.r.IntN(30))
	_, err := w.server.Get("configmaps", "shop", name)
	switch {
	case err != nil:
		_, err = w.server.Create("configmaps", map[string]any{"metadata": map[string]any{"name": name, "namespace": "shop"}})
	case w.r.IntN(4) == 0:
		_, err = w.server.Delete("configmaps", "shop", name)
	default:
		_, err = w.server.Patch("configmaps", "shop", name, map[string]any{"data": map[string]any{"n": fmt.Sprint(w.n)}})
	}
	if err != nil {
		w.Fatal(err)
	}
}

// writes makes changes for a while.
func (w *world) writes(n int) {
	w.Helper()
	for range n {
		w.write()
		<-time.After(time.Duration(w.r.IntN(20)) * time.Millisecond)
	}
}

// saved is the version in the head of a window.
var saved = regexp.MustCompile(`"version":(\d+),`)

// awaitWindows waits until both relays have saved what the server has. While the server may be
// another one than before, they save nothing; and if it then begins with an empty window, a relay
// that was started anew has to list.
func (w *world) awaitWindows() {
	w.Helper()
	want := w.server.ResourceVersion()
	for _, p := range w.relays {
		for deadline := time.Now().Add(3 * time.Minute); ; <-time.After(100 * time.Millisecond) {
			files, err := filepath.Glob(filepath.Join(p.dir, "*.window"))
			if err != nil {
				w.Fatal(err)
			}
			have := ""
			if len(files) == 1 {
				text, err := os.ReadFile(files[0])
				if err != nil {
					w.Fatal(err)
				}
				if head := saved.FindSubmatch(text); head != nil {
					have = string(head[1])
				}
			}
			if have == want {
				break
			}
			if time.Now().After(deadline) {
				w.Fatalf("the window of %s is at %q, and the server at %s", p.address, have, want)
			}
		}
	}
}

// round lets something happen, and says what. The first rounds are one of each kind, and the others
// are drawn.
func (w *world) round(n int) string {
	w.Helper()
	kinds := []func() string{w.outage, w.killed, w.restored, w.stopped, w.bothKilled, w.compacted, w.restarted, w.cut}
	k := n % len(kinds)
	if n >= len(kinds) {
		k = w.r.IntN(len(kinds))
	}
	w.writes(15)
	what := kinds[k]()
	w.writes(15)
	return what
}

func (w *world) killed() string {
	p := w.relays[w.r.IntN(2)]
	p.running.Kill()
	w.writes(10)
	w.start(p)
	return "relay killed"
}

func (w *world) bothKilled() string {
	w.relays[0].running.Kill()
	w.relays[1].running.Kill()
	w.writes(10)
	w.start(w.relays[0])
	w.start(w.relays[1])
	return "relays killed"
}

func (w *world) stopped() string {
	p := w.relays[w.r.IntN(2)]
	p.running.Interrupt()
	w.writes(10)
	w.start(p)
	return "relay stopped"
}

func (w *world) outage() string {
	if err := w.server.Refuse(time.Duration(500+w.r.IntN(2500)) * time.Millisecond); err != nil {
		w.Fatal(err)
	}
	w.writes(10)
	return "server refuses connections"
}

func (w *world) restarted() string {
	w.restore(w.server.ResourceVersion())
	return "server restarted"
}

// restored takes the server back by some writes, and so the versions of these are given again.
func (w *world) restored() string {
	backup := w.server.ResourceVersion()
	w.writes(20)
	w.settle("before a backup is restored") // the copies have what will be lost
	w.restore(backup)
	return "backup restored"
}

func (w *world) restore(version string) {
	w.Helper()
	if err := w.server.Restore(apitest.Restore{ResourceVersion: version}); err != nil {
		w.Fatal(err)
	}
}

func (w *world) compacted() string {
	w.server.Compact()
	w.server.CutWatches(0)
	return "server compacted"
}

func (w *world) cut() string {
	w.server.CutWatches(0)
	return "watches cut"
}

// settle waits until all copies are the server's.
func (w *world) settle(what string) {
	w.Helper()
	items, _, err := w.server.List("configmaps", "")
	if err != nil {
		w.Fatal(err)
	}
	var want []string
	for _, o := range items {
		meta := o["metadata"].(map[string]any)
		want = append(want, fmt.Sprintf("%s/%s@%s", meta["namespace"], meta["name"], meta["resourceVersion"]))
	}
	slices.Sort(want)
	deadline := time.Now().Add(3 * time.Minute)
	for _, c := range w.copies {
		for {
			have := c()
			name, have := have[0], have[1:]
			if slices.Sort(have); slices.Equal(have, want) {
				break
			}
			if time.Now().After(deadline) {
				w.Fatalf("%s: %s has %q, want %q", what, name, have, want)
			}
			<-time.After(20 * time.Millisecond)
		}
	}
}

func (w *world) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests = nil
}

// lists returns how often the relays have listed for themselves: not for a reader, and more than
// one object.
func (w *world) lists() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.requests {
		list := strings.Contains(one, "/configmaps") && !strings.Contains(one, "watch=") && !strings.Contains(one, "fieldSelector=") && !strings.Contains(one, "limit=1&")
		if list && !strings.HasPrefix(one, "reader ") {
			n++
		}
	}
	return n
}

// clientGo returns the store of an informer of client-go.
func clientGo(t *testing.T, config *rest.Config) cache.Store {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	must.OK(t, err)
	informer := dynamicinformer.NewDynamicSharedInformerFactory(client, 0).ForResource(configMaps).Informer()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return informer.GetStore()
}
