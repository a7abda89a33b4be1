package apitest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/server/watchcache"
)

// TestWatchGuarantees runs random changes under watchers whose streams are cut at random bytes, and
// checks what etcd's robustness tests check: events are ordered, unique and reliable, a watch
// resumes without a hole or a repetition, and nothing older follows a bookmark. In the end each
// watcher's copy equals a list.
func TestWatchGuarantees(t *testing.T) {
	seeds := uint64(20)
	if testing.Short() {
		seeds = 8
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := serve(t, Options{BookmarkPeriod: 100 * time.Millisecond})
				selectors := []string{"", "labelSelector=on", "fieldSelector=metadata.name%3Dk1"}
				followers := make([]*follower, len(selectors))
				done := make(chan struct{})
				var wg sync.WaitGroup
				for i, sel := range selectors {
					fo := &follower{f: f, selector: sel, state: make(map[string]string), done: done}
					followers[i] = fo
					wg.Go(fo.run)
				}
				events := workload(f, rand.New(rand.NewPCG(seed, 1)))
				pass(5 * time.Second) // until every follower has had a bookmark at the end
				close(done)
				f.EndWatches()
				wg.Wait()
				for _, fo := range followers {
					want := make(map[string]string)
					for _, it := range f.list("/api/v1/namespaces/d/configmaps?" + fo.selector).Items {
						want[it.Metadata.Name] = it.Metadata.ResourceVersion
					}
					if fmt.Sprint(fo.state) != fmt.Sprint(want) {
						t.Errorf("%q: the follower has %v, the server %v", fo.selector, fo.state, want)
					}
				}
				// A run in which little happened proves little.
				if all := followers[0]; all.events != events || all.opens < 10 || all.bookmarks < 3 {
					t.Errorf("%d events of %d, %d watches, %d bookmarks", all.events, events, all.opens, all.bookmarks)
				}
			})
		})
	}
}

// workload makes a few hundred changes of ten objects, and breaks streams meanwhile.
func workload(f *fixture, rnd *rand.Rand) (changes int) {
	live := make(map[string]bool)
	for range 400 {
		name := fmt.Sprintf("k%d", rnd.IntN(10))
		var labels any
		if rnd.IntN(2) == 0 {
			labels = map[string]any{"on": "1"}
		}
		var err error
		switch {
		case !live[name]:
			obj := configMap("d", name)
			metadataOf(obj)["labels"] = labels
			_, err = f.Create("configmaps", obj)
			live[name] = true
		case rnd.IntN(4) == 0:
			_, err = f.Delete("configmaps", "d", name)
			live[name] = false
		default:
			_, err = f.Patch("configmaps", "d", name, map[string]any{
				"metadata": map[string]any{"labels": labels}, "data": map[string]any{"rv": f.ResourceVersion()},
			})
		}
		if err != nil {
			f.Error(err)
		}
		changes++
		if rnd.IntN(8) == 0 {
			f.Cut(Cut{After: int64(rnd.IntN(2000)), Clean: rnd.IntN(3) == 0})
		}
		pass(time.Duration(rnd.IntN(20)) * time.Millisecond)
	}
	return changes
}

// A follower keeps a copy of a selection by watching, and resumes where a stream broke.
type follower struct {
	f        *fixture
	selector string
	done     chan struct{}

	state                    map[string]string // name to version
	at                       uint64
	events, opens, bookmarks int
}

func (fo *follower) run() {
	fo.at = 1
	for {
		select {
		case <-fo.done:
			return
		default:
		}
		fo.opens++
		resp := open(fo.f.T, fo.f.client, http.MethodGet, "http://server/api/v1/namespaces/d/configmaps?watch=1&allowWatchBookmarks=1&resourceVersion="+
			url.QueryEscape(formatRV(fo.at))+"&"+fo.selector, "")
		w := &watcher{fo.f.T, bufio.NewReader(resp.Body)}
		for {
			fr, err := w.next()
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				break
			}
			if err != nil {
				fo.f.Errorf("%q: %v", fo.selector, err)
				break
			}
			fo.apply(fr)
		}
		_ = resp.Body.Close()
		// A stream that is cut at its first byte must not be opened again in no time: the bubble's
		// clock would stand still.
		pass(time.Millisecond)
	}
}

func (fo *follower) apply(fr frame) {
	meta := fr.Object.Metadata
	rv, err := watchcache.ParseVersion(meta.ResourceVersion)
	if err != nil || rv <= fo.at && fr.Type != "BOOKMARK" || rv < fo.at {
		fo.f.Errorf("%q: %s after %d", fo.selector, fr, fo.at)
	}
	_, known := fo.state[meta.Name]
	switch fr.Type {
	case "ADDED":
		if known {
			fo.f.Errorf("%q: %s, which is known", fo.selector, fr)
		}
		fo.state[meta.Name] = meta.ResourceVersion
	case "MODIFIED", "DELETED":
		if !known {
			fo.f.Errorf("%q: %s, which is not known", fo.selector, fr)
		}
		fo.state[meta.Name] = meta.ResourceVersion
		if fr.Type == "DELETED" {
			delete(fo.state, meta.Name)
		}
	case "BOOKMARK":
		fo.bookmarks++
		fo.events--
	default:
		fo.f.Errorf("%q: %s", fo.selector, fr)
	}
	fo.events++
	fo.at = rv
}
