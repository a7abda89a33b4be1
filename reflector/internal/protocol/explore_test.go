package protocol

import (
	"testing"
	"time"
)

func explorerRules(change func(*Rules)) Rules {
	r := Rules{
		MinTimeout: 5 * time.Minute, Patience: armed, SinkTells: true, SinkCounts: true,
		Rand: func() float64 { return 0 },
	}
	if change != nil {
		change(&r)
	}
	return r
}

var searches = []*search{
	{
		name: "restore", rules: explorerRules(nil), most: 4,
		budget: budget{anyFault: 1, writes: 4, restores: 1},
	},
	{
		name: "restore and faults", rules: explorerRules(nil), most: 4,
		budget: budget{anyFault: 2, writes: 3, restores: 1, badObjects: 1, askFailures: 1},
	},
	{
		name: "verify", rules: explorerRules(func(r *Rules) { r.Verify = time.Hour }), most: 4,
		budget: budget{anyFault: 1, writes: 3, restores: 1, omissions: 1, breaks: 1, badObjects: 1},
	},
	{
		name: "deaf", rules: explorerRules(nil), most: 4, deaf: true,
		budget: budget{anyFault: 2, writes: 3, breaks: 1, badObjects: 1, refusals: 1},
	},
	{
		name: "cleared", rules: explorerRules(nil), most: 4, cleared: true,
		budget: budget{anyFault: 2, writes: 3, leaves: 1, breaks: 1, badObjects: 1, refusals: 1},
	},
	{
		name: "sink that does not tell", rules: explorerRules(func(r *Rules) { r.SinkTells, r.SinkCounts = false, false }), most: 4,
		budget: budget{anyFault: 2, writes: 3, leaves: 1, breaks: 1, badObjects: 1, refusals: 1},
	},
	{
		name: "initial events", rules: explorerRules(func(r *Rules) { r.Initial = InitialEvents }), most: 4,
		budget: budget{anyFault: 2, writes: 3, breaks: 2, lags: 1, failures: 1, badObjects: 1, compactions: 1, nameless: 1},
	},
	{
		name: "program", rules: explorerRules(nil), most: 4,
		budget: budget{anyFault: 2, writes: 3, relists: 1, stops: 1, restores: 1, badObjects: 1},
	},
	{
		name: "elsewhere", rules: explorerRules(nil), most: 5,
		budget: budget{anyFault: 2, writes: 3, elsewheres: 1, grants: 2, breaks: 1, badObjects: 1, lags: 1},
	},
}

func TestExplore(t *testing.T) {
	for _, s := range searches {
		t.Run(s.name, func(t *testing.T) {
			begun := time.Now()
			f := s.explore()
			t.Logf("%d states, %d steps, settled after at most %d steps of a server that behaves, %v", f.states, f.steps, f.depth, time.Since(begun))
			if f.violation != nil {
				t.Errorf("%s\n\n%s", f.violation.what, s.golden(f.violation.path, f.violation.what))
			}
		})
	}
}
