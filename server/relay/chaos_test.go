package relay

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"
)

var seedCount = flag.Int("seeds", 100, "how many seeds TestChaos plays")

// TestChaos plays a random life to a relay: writes, watches that are cut, windows that are emptied,
// servers that refuse connections, and new processes of the relay, which begin with the window of
// the last one. Every state that the relay serves at a version is the server's at that version, and
// in the end its readers have what the server has.
//
// No backup is restored here: docs/guarantees.md says what a reflector cannot notice of that, and
// so small a cluster meets it often.
//
//	go test ./server/relay -run TestChaos -seeds=10000    # a quarter of an hour
func TestChaos(t *testing.T) {
	t.Parallel()
	checked := 0
	seeds := *seedCount
	if testing.Short() {
		seeds = min(seeds, 12)
	}
	for seed := range seeds {
		opts := Options{Dir: t.TempDir(), SaveEvery: 10 * time.Second, OnProblem: func(err error) { t.Log("problem:", err) }}
		play(t, opts, func(r *rig) {
			defer func() {
				if r.Failed() {
					r.Logf("seed %d", seed)
				}
			}()
			c := &chaos{rig: r, r: rand.New(rand.NewPCG(uint64(seed), 2)), opts: opts, had: map[string]string{}}
			c.play()
			checked += c.checked
		})
	}
	if checked < seeds*5 {
		t.Errorf("%d states were compared, which is too few to show anything", checked)
	}
}

type chaos struct {
	*rig
	r       *rand.Rand
	opts    Options
	front   atomic.Pointer[http.Client] // of the relay's present process
	had     map[string]string           // the state of the server at each version
	checked int
}

func (c *chaos) play() {
	c.front.Store(c.http)
	c.note()
	var copies []*informer.Informer[*listwatch.Raw]
	for _, initial := range []reflector.InitialList{reflector.FromCache, reflector.Consistent, reflector.Streaming} {
		copies = append(copies, c.reader(initial))
	}
	for range 40 {
		c.step()
		later(time.Duration(c.r.IntN(20_000)) * time.Millisecond)
		c.check()
	}
	if err := c.server.Resume(); err != nil {
		c.Fatal(err)
	}
	later(2 * time.Minute)
	c.create("last", "n")
	later(2 * time.Minute)
	_, want := c.state()
	for _, one := range copies {
		var have []string
		for _, o := range one.Store().List() {
			have = append(have, o.String()+"@"+o.GetResourceVersion())
		}
		if text := strings.Join(have, " "); text != want {
			c.Errorf("a reader has %q, want %q", text, want)
		}
	}
}

// reader returns a copy that reads through the relay, whichever process that is.
func (c *chaos) reader(initial reflector.InitialList) *informer.Informer[*listwatch.Raw] {
	client, err := transport.NewClient(transport.Config{Server: "http://localhost", RoundTripper: roundTrip(func(req *http.Request) (*http.Response, error) {
		return c.front.Load().Transport.RoundTrip(req)
	})})
	if err != nil {
		c.Fatal(err)
	}
	lw, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, listwatch.Options[*listwatch.Raw]{})
	if err != nil {
		c.Fatal(err)
	}
	one := informer.New(lw, informer.Options[*listwatch.Raw]{
		Logger: slog.New(slog.DiscardHandler), Reflector: reflector.Options{Initial: initial},
	})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = one.Run(ctx) })
	c.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return one
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// state returns the version and the state of the server.
func (c *chaos) state() (version, state string) {
	items, version, err := c.server.List("pods", "")
	if err != nil {
		c.Fatal(err)
	}
	var all []string
	for _, o := range items {
		meta := o["metadata"].(map[string]any)
		all = append(all, fmt.Sprintf("%s/%s@%s", meta["namespace"], meta["name"], meta["resourceVersion"]))
	}
	return version, strings.Join(all, " ")
}

// note remembers the state of the server.
func (c *chaos) note() {
	version, state := c.state()
	c.had[version] = state
}

func (c *chaos) step() {
	switch c.r.IntN(13) {
	case 0:
		c.server.CutWatches(0)
	case 1:
		c.server.Compact()
	case 2:
		_ = c.server.Refuse(time.Duration(1+c.r.IntN(60)) * time.Second) // an error is one of a server that refuses already
	case 3:
		c.stop()
		c.start(c.opts)
		c.front.Store(c.http)
	case 4:
		c.other()
		c.note()
	default:
		for range 1 + c.r.IntN(4) {
			c.write()
			c.note()
		}
	}
}

func atoi(s string) (n int) {
	_, _ = fmt.Sscan(s, &n) // a version is a number
	return n
}

// write creates, changes or deletes a Pod.
func (c *chaos) write() {
	name := string(rune('a' + c.r.IntN(6)))
	if _, err := c.server.Get("pods", "shop", name); err != nil {
		c.create(name, "n")
	} else if c.r.IntN(3) == 0 {
		_, _ = c.server.Delete("pods", "shop", name) // it is there
	} else {
		change := map[string]any{"metadata": map[string]any{"labels": map[string]any{"x": fmt.Sprint(c.r.Uint32())}}}
		_, _ = c.server.Patch("pods", "shop", name, change) // it is there
	}
}

// check compares what the relay serves with the states that the server had.
func (c *chaos) check() {
	query := "resourceVersion=0"
	if at := c.r.IntN(atoi(c.server.ResourceVersion()) + 1); at > 0 && c.r.IntN(2) == 0 {
		query = fmt.Sprintf("resourceVersion=%d&resourceVersionMatch=%s", at, []string{"Exact", "NotOlderThan"}[c.r.IntN(2)])
	}
	got := c.get("/api/v1/pods?" + query)
	if got.code != http.StatusOK {
		return
	}
	var list struct {
		Metadata struct{ ResourceVersion string }
		Items    []struct {
			Metadata struct{ Namespace, Name, ResourceVersion string }
		}
	}
	if err := json.Unmarshal([]byte(got.body), &list); err != nil {
		c.Fatal(err)
	}
	var all []string
	for _, o := range list.Items {
		all = append(all, o.Metadata.Namespace+"/"+o.Metadata.Name+"@"+o.Metadata.ResourceVersion)
	}
	c.checked++
	if state, version := strings.Join(all, " "), list.Metadata.ResourceVersion; state != c.had[version] {
		c.Errorf("the relay served %q at %s, where the server had %q", state, version, c.had[version])
	}
	synctest.Wait()
}
