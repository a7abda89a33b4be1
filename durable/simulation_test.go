package durable_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/transport"
)

var (
	seedCount = flag.Int("seeds", 25, "how many seeds TestSimulation plays")
	oneSeed   = flag.Int("seed", -1, "the one seed that TestSimulation plays; negative for all")
)

// TestSimulation plays random lives to programs that follow each other and share a place. Objects
// change, cannot be decoded, and can again; watches are cut, versions expire, backups of the server
// are restored; the database fails before or after each kind of call; programs are killed, second
// ones take over, and some have another selector than the one before. After each commit, every row
// whose key is not unsure is what the server had at the version of the commit. In the end, all rows
// are what the server has.
//
//	go test -race . -run TestSimulation -v -seeds=2000
//	go test -race . -run TestSimulation -v -seed=42
func TestSimulation(t *testing.T) {
	first, last := 0, *seedCount
	if testing.Short() {
		last = min(last, 8)
	}
	if *oneSeed >= 0 {
		first, last = *oneSeed, *oneSeed+1
	}
	total := &tally{}
	for seed := first; seed < last; seed++ {
		synctest.Test(t, func(t *testing.T) { newSimulation(t, uint64(seed), total).play() })
	}
	t.Logf("%d seeds: %v", last-first, total.counts)
	for _, what := range []string{"commits", "lists", "unsure", "restored", "fenced", "failed", "resumed", "no version", "selectors"} {
		if *oneSeed < 0 && total.counts[what] < (last-first)/10 {
			t.Errorf("%d %s in %d seeds: the test has become harmless", total.counts[what], what, last-first)
		}
	}
}

// tally counts what has happened in all seeds.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *tally) count(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[string]int{}
	}
	c.counts[what]++
}

// identity is what a row and an object of the server are compared by.
type identity struct {
	uid     types.UID
	version string
	value   string
	half    string // its label
}

// half is the label selector that some programs have.
const half = "half=yes"

// selected returns the objects that a selector selects.
func selected(objects map[string]identity, selector string) map[string]identity {
	objects = maps.Clone(objects)
	maps.DeleteFunc(objects, func(_ string, id identity) bool { return selector == half && id.half != "yes" })
	return objects
}

// simulation is one seed.
type simulation struct {
	t     *testing.T
	dice  *rand.Rand
	total *tally

	log      bytes.Buffer // is shown if the seed fails
	logger   *slog.Logger
	server   *apitest.Server
	client   *transport.Client
	selector string // of the programs that start now
	place    *place

	// histories are what the server had at each version. A restored backup begins another history,
	// in which versions come again.
	mu        sync.Mutex // a change of the server and its note in histories are one
	histories []map[string]map[string]identity
	backups   []string
	restores  int
	restored  bool // since a program has had time to find out
}

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func newSimulation(t *testing.T, seed uint64, total *tally) *simulation {
	s := &simulation{t: t, dice: rand.New(rand.NewPCG(seed, 7)), total: total, place: newPlace()}
	server, listener := apitest.StartInMemory(t, apitest.Options{Window: 40})
	client, err := transport.NewClient(transport.Config{Server: listener.URL, Dial: listener.Dial})
	must.OK(t, err)
	t.Cleanup(client.Close)
	s.server, s.client = server, client
	s.logger = slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("this was seed %d:\n%s", seed, s.log.String())
		}
	})
	s.histories = []map[string]map[string]identity{{}}
	s.place.checked = s.check
	s.note()
	return s
}

// note remembers what the server has.
func (s *simulation) note() {
	items, version, err := s.server.List("configmaps", "")
	if err != nil {
		s.t.Fatal(err)
	}
	state := map[string]identity{}
	for _, item := range items {
		meta := item["metadata"].(map[string]any)
		id := identity{uid: types.UID(fmt.Sprint(meta["uid"])), version: fmt.Sprint(meta["resourceVersion"])}
		if labels, ok := meta["labels"].(map[string]any); ok {
			id.half = fmt.Sprint(labels["half"])
		}
		if data, ok := item["data"].(map[string]any); ok {
			id.value = fmt.Sprint(data["value"])
		}
		state[fmt.Sprint(meta["namespace"], "/", meta["name"])] = id
	}
	s.histories[len(s.histories)-1][version] = state
}

// check compares the rows of a commit with what the server had at its version.
func (s *simulation) check(rows map[string]row, state durable.State, changes []durable.Change[*thing], list bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total.count("commits")
	if list {
		s.total.count("lists")
	}
	if len(state.Point.Unsure) > 0 {
		s.total.count("unsure")
	}
	if state.Point.Version == "" {
		s.total.count("no version")
		return
	}
	if state.Unselected {
		s.t.Errorf("rows at version %s may be of other selectors", state.Point.Version)
	}
	unsure := map[string]bool{}
	for _, key := range state.Point.Unsure {
		unsure[key] = true
	}
	var last string
	for _, history := range s.histories {
		want, ok := history[state.Point.Version]
		if !ok {
			continue
		}
		if last = difference(rows, selected(want, state.Stream.LabelSelector), unsure); last == "" {
			return
		}
	}
	s.logger.Error(last)
	s.t.Errorf("the commit of version %s with %d changes (of a list: %v), unsure keys %v: %s", state.Point.Version, len(changes), list, state.Point.Unsure, last)
}

func difference(rows map[string]row, want map[string]identity, unsure map[string]bool) string {
	for key, r := range rows {
		has := identity{r.meta.UID, r.meta.ResourceVersion, r.obj.Data["value"], r.obj.Labels["half"]}
		if !unsure[key] && has != want[key] {
			return fmt.Sprintf("the row of %s is %v, and the server has %v", key, has, want[key])
		}
	}
	for key, w := range want {
		if _, ok := rows[key]; !ok && !unsure[key] {
			return fmt.Sprintf("there is no row of %s, and the server has %v", key, w)
		}
	}
	return ""
}

var errBad = errors.New("bad luck")

// start starts a program.
func (s *simulation) start(fail func(string) (error, error)) *program {
	opts := listwatch.Options[*thing]{LabelSelector: s.selector, Transform: func(o *thing) (*thing, error) {
		if o.Data["value"] == "13" {
			return nil, errBad
		}
		return o, nil
	}}
	configs, err := listwatch.New(s.client, configMaps, opts)
	if err != nil {
		s.t.Fatal(err)
	}
	to := s.place.open(s.t)
	to.fail = fail
	p := &program{ended: make(chan error, 1)}
	m, err := durable.New(configs, to, durable.Options{
		Stream:    durable.StreamOf("c1", configMaps, opts, ""),
		Logger:    s.logger,
		BatchRows: 5,
		Trace: &durable.Trace{
			Opened: func(state durable.State) {
				if state.Point.Version != "" {
					s.total.count("resumed")
				}
			},
			Failed: func(f durable.Failure) {
				s.total.count("failed")
				if !errors.Is(f.Err, errDatabase) {
					s.t.Errorf("failed: %v", f.Err)
				}
			},
		},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	p.mirror, p.cancel = m, cancel
	go func() { p.ended <- m.Run(ctx) }()
	return p
}

// program is a process.
type program struct {
	mirror *durable.Mirror[*thing]
	cancel context.CancelFunc
	ended  chan error
}

// end ends a program, which returns want or has ended already.
func (s *simulation) end(p *program, want error) {
	p.cancel()
	if err := <-p.ended; !errors.Is(err, want) && !errors.Is(err, context.Canceled) {
		s.t.Errorf("the program has ended with %v, want %v", err, want)
	} else if errors.Is(err, durable.ErrFenced) {
		s.total.count("fenced")
	}
}

func (s *simulation) play() {
	for range 4 {
		if s.dice.IntN(4) == 0 {
			s.selector = []string{"", half}[s.dice.IntN(2)]
			s.total.count("selectors")
		}
		var dead atomic.Bool
		unlucky := s.dice.IntN(3) == 0
		luck := rand.New(rand.NewPCG(s.dice.Uint64(), 1))
		p := s.start(func(string) (error, error) {
			switch n := luck.IntN(60); {
			case dead.Load():
				return errDatabase, nil
			case !unlucky || n > 1:
				return nil, nil
			case n == 0:
				return errDatabase, nil
			default:
				return nil, errDatabase
			}
		})
		for range 5 + s.dice.IntN(25) {
			s.step()
		}
		switch s.dice.IntN(4) {
		case 0: // another takes over, and the first may still write
			second := s.start(nil)
			synctest.Wait()
			for range s.dice.IntN(10) {
				s.step()
			}
			<-time.After(2 * time.Minute) // the first has written, or has tried to open again
			s.end(p, durable.ErrFenced)
			s.end(second, durable.ErrFenced)
		case 1: // kill -9
			dead.Store(true)
			s.end(p, nil)
		default:
			s.end(p, nil)
		}
		for range s.dice.IntN(8) {
			s.change()
		}
		if s.dice.IntN(4) == 0 {
			s.restore()
		}
		if s.dice.IntN(4) == 0 {
			s.server.Compact()
		}
	}
	last := s.start(nil)
	s.learn()
	for range 60 {
		s.change()
	}
	<-time.After(time.Hour)
	s.settled()
	s.end(last, nil)
}

// settled compares the rows with the server, after all is quiet.
func (s *simulation) settled() {
	s.place.mu.Lock()
	defer s.place.mu.Unlock()
	version := s.server.ResourceVersion()
	want := selected(s.histories[len(s.histories)-1][version], s.selector)
	bad := map[string]bool{}
	for key, id := range want {
		if id.value == "13" {
			bad[key] = true
		}
	}
	unsure := maps.Clone(bad)
	for _, key := range s.place.state.Point.Unsure {
		if !bad[key] {
			s.t.Errorf("%s is unsure after an hour", key)
		}
		delete(bad, key)
	}
	if len(bad) > 0 {
		s.t.Errorf("the objects %v cannot be decoded, and are not unsure", bad)
	}
	if diff := difference(s.place.rows, want, unsure); diff != "" {
		s.t.Errorf("at last, at version %s (the server is at %s): %s", s.place.state.Point.Version, version, diff)
	}
}

// learn gives the program that runs the time to find out that a backup was restored. Until then,
// only objects change that the old history does not have: if the newest objects of the old history
// are written again before the program looks at them, nobody can tell the two apart.
func (s *simulation) learn() {
	if s.restored {
		<-time.After(5 * time.Minute)
		s.restored = false
	}
}

func (s *simulation) step() {
	s.learn()
	switch s.dice.IntN(16) {
	case 0:
		s.server.CutWatches(int64(s.dice.IntN(300)))
	case 1:
		s.server.Compact()
	case 2:
		s.server.EndWatches()
	case 3, 4:
		<-time.After(time.Duration(s.dice.IntN(3000)) * time.Millisecond)
	case 5:
		<-time.After(time.Duration(s.dice.IntN(300)) * time.Second)
	case 6:
		synctest.Wait()
	case 7:
		if s.dice.IntN(4) == 0 {
			<-time.After(20 * time.Second) // a program that has reconnected knows by then which server it is
			s.restore()
		}
	case 8:
		for range 50 {
			s.change() // more than the window
		}
	default:
		for range s.dice.IntN(9) {
			s.change()
		}
	}
}

func (s *simulation) change() {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := strconv.Itoa(s.dice.IntN(12))
	if s.restored {
		name = fmt.Sprintf("after-%d-%d", s.restores, s.dice.IntN(2))
	}
	if s.dice.IntN(3) == 0 {
		_, _ = s.server.Delete("configmaps", "ns", name) // there may be none
	} else {
		obj := map[string]any{
			"metadata": map[string]any{"namespace": "ns", "name": name, "labels": map[string]any{"half": []string{"yes", "no"}[s.dice.IntN(2)]}},
			"data":     map[string]any{"value": strconv.Itoa(s.dice.IntN(40)), "n": strconv.Itoa(s.dice.IntN(1 << 30))},
		}
		if _, err := s.server.Update("configmaps", obj); err != nil {
			if _, err := s.server.Create("configmaps", obj); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	s.note()
	if s.dice.IntN(10) > 0 {
		return
	}
	// Something is created after each backup, and stays: if the only difference were a deletion
	// that a program has not seen, the program could not find out.
	s.backups = append(s.backups, s.server.ResourceVersion())
	mark := map[string]any{"metadata": map[string]any{
		"namespace": "ns", "name": "mark-" + s.server.ResourceVersion(), "labels": map[string]any{"half": "yes"}, // each program sees it
	}}
	if _, err := s.server.Create("configmaps", mark); err != nil {
		s.t.Fatal(err)
	}
	s.note()
}

// restore restores a backup of the server: versions come again, with other objects.
func (s *simulation) restore() {
	if len(s.backups) == 0 {
		return
	}
	if err := s.server.Refuse(3 * time.Second); err != nil { // nobody restores a server that runs
		s.t.Fatal(err)
	}
	<-time.After(2 * time.Second)
	s.mu.Lock()
	if err := s.server.Restore(apitest.Restore{ResourceVersion: s.backups[s.dice.IntN(len(s.backups))]}); err != nil {
		s.mu.Unlock()
		return // it was compacted away
	}
	s.total.count("restored")
	s.restores++
	s.logger.Info("restored", "resourceVersion", s.server.ResourceVersion())
	s.backups = nil
	s.histories = append(s.histories, map[string]map[string]identity{})
	s.note()
	s.mu.Unlock()
	s.restored = true
	for range s.dice.IntN(40) {
		s.change()
	}
}
