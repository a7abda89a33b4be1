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
		name: "faults", rules: explorerRules(nil), most: 5,
		budget: budget{anyFault: 1, writes: 4, elsewheres: 1, compactions: 1, lags: 1, breaks: 2, failures: 2, expirations: 1},
	},
	{
		name: "quarantine", rules: explorerRules(nil), most: 5,
		budget: budget{anyFault: 2, writes: 4, elsewheres: 1, leaves: 2, compactions: 1, lags: 1, breaks: 1, expirations: 1, badObjects: 2, refusals: 2, askFailures: 1},
	},
	{
		name: "nameless", rules: explorerRules(nil), most: 5,
		budget: budget{anyFault: 2, writes: 4, compactions: 1, lags: 1, breaks: 1, expirations: 1, nameless: 2, badObjects: 1, refusals: 1},
	},
	{
		name: "restore", rules: explorerRules(nil), most: 4,
		budget: budget{anyFault: 2, writes: 4, compactions: 1, restores: 1, breaks: 1, badObjects: 1, askFailures: 1},
	},
	{
		name: "late", rules: explorerRules(nil), most: 5,
		budget: budget{anyFault: 3, writes: 4, grants: 2, breaks: 1},
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
