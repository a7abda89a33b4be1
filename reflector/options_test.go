package reflector

import (
	"math"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/protocol"
)

// A program that means "never" may say the longest time there is. No sum of that with jitter or a
// schedule is a time in the past.
func TestLongestTimeOfEachOption(t *testing.T) {
	const longest = time.Duration(math.MaxInt64)
	var metadata struct {
		source.ListWatcher[*metav1.PartialObjectMetadata]
	}
	for name, opts := range map[string]Options{
		"BackoffBase":         {BackoffBase: longest},
		"BackoffCap":          {BackoffCap: longest},
		"both":                {BackoffBase: longest, BackoffCap: longest},
		"MinWatchTimeout":     {MinWatchTimeout: longest},
		"ResponseIdleTimeout": {ResponseIdleTimeout: longest},
		"Resync":              {Resync: longest},
		"Verify":              {Verify: VerifyOptions{Interval: longest, Metadata: metadata}},
	} {
		t.Run(name, func(t *testing.T) {
			opts.Rand = func() float64 { return 0.999 }
			rules := opts.rules()
			rules.SinkTells = true
			m, now := protocol.New(rules), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			for range 20 {
				m.Step(now, protocol.Tick{})
				m.Step(now, protocol.Listed{Failure: protocol.Failure{Reason: protocol.Failed, Code: 500}})
				if at := m.Wake(); !at.After(now) {
					t.Fatalf("after a failure, the next list follows in %v", at.Sub(now))
				} else {
					now = at
				}
			}
			m.Step(now, protocol.Tick{})
			m.Step(now, protocol.Listed{Sum: protocol.Sum{Version: "10"}})
			for _, e := range m.Step(now, protocol.Took{}) {
				if w, ok := e.(protocol.Watch); ok && w.Timeout < defaultMinWatchTimeout {
					t.Errorf("a watch is asked for %v", w.Timeout)
				}
			}
			m.Step(now, protocol.Opened{})
			if at := m.Wake(); !at.IsZero() && at.Before(now.Add(30*time.Second)) {
				t.Errorf("beside a watch, something is due in %v", at.Sub(now))
			}
		})
	}
}

// A base that is shorter than none at all would remove the limits of requests.
func TestNoBaseIsShorterThanNone(t *testing.T) {
	none := Options{BackoffBase: -1}.rules()
	if rules := (Options{BackoffBase: 1}).rules(); rules.Base != none.Base || rules.Cap != defaultBackoffCap {
		t.Errorf("a base of 1 ns counts as %v up to %v, no base as %v", rules.Base, rules.Cap, none.Base)
	}
}
