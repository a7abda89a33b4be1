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
		name: "writes", rules: explorerRules(nil), most: 5,
		budget: budget{anyFault: 1, writes: 4, compactions: 1, lags: 1, breaks: 1, failures: 1, expirations: 1},
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
