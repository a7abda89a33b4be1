package protocol

import (
	"flag"
	"math/rand/v2"
	"runtime/debug"
	"testing"
	"time"
)

var walk = flag.Duration("explore.walk", 0, "how long to walk at random, each search in its turn, beyond what is searched whole")

func explorerRules(change func(*Rules)) Rules {
	r := Rules{
		MinTimeout: 5 * time.Minute, ResponseIdleTimeout: armed, SinkTells: true,
		Rand: func() float64 { return 0 },
	}
	if change != nil {
		change(&r)
	}
	return r
}

// searches are bounded so that all of them together take less than a minute. What is bounded is how
// much goes wrong in one run: each has the faults that are about its subject.
var searches = []*search{
	{
		name: "watches", rules: explorerRules(nil), most: 5, settles: 10,
		budget: budget{anyFault: 1, writes: 4, elsewheres: 1, compactions: 1, lags: 1, breaks: 1, failures: 1, expirations: 1},
	},
	{
		name: "faults in a row", rules: explorerRules(nil), most: 3, settles: 16,
		budget: budget{anyFault: 4, writes: 2, compactions: 1, lags: 1, breaks: 3, failures: 3, expirations: 1},
	},
	{
		name: "quarantine", rules: explorerRules(nil), most: 5, settles: 11,
		budget: budget{anyFault: 1, writes: 4, leaves: 1, badObjects: 1, refusals: 1},
	},
	{
		name: "quarantine and leaving the selector", rules: explorerRules(nil), most: 5, settles: 12,
		budget: budget{anyFault: 2, writes: 3, elsewheres: 1, leaves: 1, compactions: 1, lags: 1, badObjects: 1, refusals: 1, refetchFailures: 1},
	},
	{
		name: "nameless", rules: explorerRules(nil), most: 4, settles: 14,
		budget: budget{anyFault: 2, writes: 3, compactions: 1, lags: 1, breaks: 1, expirations: 1, unnamed: 2, badObjects: 1, refusals: 1},
	},
	{
		name: "late", rules: explorerRules(nil), most: 5, settles: 12,
		budget: budget{anyFault: 3, writes: 4, grants: 2, breaks: 1},
	},
	{
		name: "restored", rules: explorerRules(nil), most: 5, settles: 15,
		budget: budget{anyFault: 1, writes: 5, restores: 1},
	},
	{
		name: "restored beside quarantine", rules: explorerRules(nil), most: 4, settles: 23,
		budget: budget{anyFault: 2, writes: 3, restores: 1, badObjects: 1, refetchFailures: 1},
	},
	{
		name: "verified", rules: explorerRules(func(r *Rules) { r.Verify = time.Hour }), most: 4, settles: 15,
		budget: budget{anyFault: 1, writes: 3, restores: 1, omissions: 1},
	},
	{
		name: "field selectors ignored", rules: explorerRules(nil), most: 4, settles: 16, deaf: true,
		budget: budget{anyFault: 2, writes: 3, breaks: 1, badObjects: 1, refusals: 1},
	},
	{
		name: "versions cleared", rules: explorerRules(nil), most: 4, settles: 14, cleared: true,
		budget: budget{anyFault: 2, writes: 3, leaves: 1, breaks: 1, badObjects: 1, refusals: 1},
	},
	{
		name: "sink that does not tell", rules: explorerRules(func(r *Rules) { r.SinkTells = false }), most: 4, settles: 15,
		budget: budget{anyFault: 2, writes: 3, leaves: 1, breaks: 1, badObjects: 1, refusals: 1},
	},
	{
		name: "initial events", rules: explorerRules(func(r *Rules) { r.Initial = Streaming }), most: 4, settles: 14,
		budget: budget{anyFault: 2, writes: 3, breaks: 2, lags: 1, failures: 1, badObjects: 1, compactions: 1, unnamed: 1},
	},
	{
		name: "program", rules: explorerRules(nil), most: 4, settles: 23,
		budget: budget{anyFault: 2, writes: 3, relists: 1, stops: 1, restores: 1, badObjects: 1},
	},
}

// The machine is explored with every search, until there are no new states.
func TestExplore(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	for _, s := range searches {
		t.Run(s.name, func(t *testing.T) {
			if raceDetector { // it makes a search ten times as slow, and there is one goroutine
				s.budget[anyFault], s.budget[writes] = min(s.budget[anyFault], 1), min(s.budget[writes], 2)
			}
			begun := time.Now()
			f := s.explore()
			t.Logf("%d states, %d steps, settled after at most %d steps of a server that behaves, %v",
				f.states, f.steps, f.depth, time.Since(begun).Round(time.Millisecond))
			if f.violation != nil {
				t.Fatalf("%s\n\n%s", f.violation.what, s.golden(f.violation.path, f.violation.what))
			}
			if f.depth > s.settles {
				t.Errorf("settled after %d steps, want %d at most", f.depth, s.settles)
			}
		})
	}
}

// Beyond what can be searched whole, the machine is walked through at random, with -explore.walk.
func TestWalk(t *testing.T) {
	for _, s := range searches {
		t.Run(s.name, func(t *testing.T) {
			seed := uint64(1)
			if *walk > 0 {
				seed = rand.Uint64()
			}
			dice := rand.New(rand.NewPCG(seed, 0))
			much := *s
			much.most = 20
			for f, n := range s.budget {
				if n > 0 {
					much.budget[f] = 8
				}
			}
			much.budget[anyFault], much.budget[writes] = 8, 12
			much.budget[restores] = s.budget[restores]
			walks, end := 0, time.Now().Add(*walk/time.Duration(len(searches)))
			for ; walks < 100 || time.Now().Before(end); walks++ {
				if v := much.walk(dice); v != nil {
					t.Fatalf("seed %d: %s\n\n%s", seed, v.what, much.golden(v.path, v.what))
				}
			}
			t.Logf("%d walks", walks)
		})
	}
}

// walk makes moves at random, then lets the server behave.
func (s *search) walk(dice *rand.Rand) *violation {
	var e encoder
	var scratch [2][]byte
	w := s.begin()
	var path []move
	happen := func(mv move) bool {
		next := new(world).follows(w)
		if !next.make(mv) {
			return true
		}
		path = append(path, mv)
		next.inspect(w)
		e.identify(next, &scratch)
		w = next
		return w.broken == ""
	}
	for range 20 + dice.IntN(60) {
		moves := w.moves(nil)
		mv := moves[dice.IntN(len(moves))]
		if dice.IntN(8) == 0 {
			mv.refuse = int8(1 + dice.IntN(2))
		}
		if w.can(refusals) || mv.refuse == 0 {
			if !happen(mv) {
				return &violation{w.broken, path}
			}
		}
	}
	for range 100 {
		mv, ok := w.behave()
		if !ok || w.behaving(mv) == inOrderVerify && w.equal() {
			if !w.equal() && w.mustConverge() {
				return &violation{"the sink never equals the server, although the server behaves", path}
			}
			return nil
		}
		if !happen(mv) {
			return &violation{w.broken, path}
		}
	}
	return &violation{"the client never comes to rest, although the server behaves", path}
}
