package protocol

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/relist-go/relist/object"
)

// The delays after failures of one kind, drawn at their least.
func TestBackoffSchedules(t *testing.T) {
	ms := time.Millisecond
	answered := []time.Duration{800 * ms, 800 * ms, 800 * ms, 1200 * ms, 4000 * ms, 4000 * ms, 8000 * ms, 16000 * ms, 30000 * ms, 30000 * ms}
	unreachable := []time.Duration{800 * ms, 1600 * ms, 2500 * ms, 2500 * ms, 2500 * ms, 2500 * ms}
	for _, c := range []struct {
		failure Failure
		want    []time.Duration
	}{
		{failed(Denied, 403), answered},
		{failed(Throttled, 429), answered},
		{failed(Unavailable, 503), answered},
		{failed(Failed, 500), answered},
		{failed(Malformed, 0), answered},
		{failed(NotFound, 404), answered},
		{failed(ConnectionLost, 0), answered},
		{failed(Unreachable, 0), unreachable},
	} {
		t.Run(c.failure.Reason.String(), func(t *testing.T) {
			var p backoff
			rules := defaults()
			var got []time.Duration
			for range c.want {
				got = append(got, p.delay(&rules, toWatch, c.failure))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("the delays are %v, want %v", got, c.want)
			}
			rules.Rand = func() float64 { return 0.999 }
			p = backoff{}
			for i, least := range c.want {
				if got := p.delay(&rules, toWatch, c.failure); got <= least || got >= 2*least {
					t.Errorf("delay %d is %v at most, want less than twice %v", i, got, least)
				}
			}
		})
	}
}

// A watch that cannot be opened after a list without a version is followed by another list, which
// costs the server an answer, also if the watch cost it none.
func TestListsWithoutAVersionArePacedAsAnswers(t *testing.T) {
	for _, failure := range []Failure{failed(Unreachable, 0), failed(ConnectionLost, 0), failed(Denied, 403), failed(Closed, 0)} {
		s := newStage()
		var got []time.Duration
		for range 7 {
			s.tick()
			s.step(Listed{})
			s.step(Ended{failure})
			wait, _ := sent[Backoff](s)
			got = append(got, wait.Delay)
		}
		ms := time.Millisecond
		if want := []time.Duration{800 * ms, 800 * ms, 800 * ms, 1200 * ms, 4000 * ms, 4000 * ms, 8000 * ms}; !slices.Equal(got, want) {
			t.Errorf("%v: the delays are %v, want %v", failure.Reason, got, want)
		}
	}
}

// Where the cause changes, each schedule continues where it was: a server that comes and goes is no
// new one each time.
func TestBackoffGoesOnWhereItWas(t *testing.T) {
	var p backoff
	rules := defaults()
	var got []time.Duration
	for _, failure := range []Failure{failed(Unreachable, 0), failed(Denied, 403), failed(Unreachable, 0), failed(Throttled, 429), failed(Denied, 403), failed(Failed, 500)} {
		got = append(got, p.delay(&rules, toWatch, failure))
	}
	ms := time.Millisecond
	if want := []time.Duration{800 * ms, 800 * ms, 1600 * ms, 800 * ms, 800 * ms, 1200 * ms}; !slices.Equal(got, want) {
		t.Errorf("the delays are %v, want %v", got, want)
	}
}

func TestBackoffStartsAgainAfterAHealthyWatch(t *testing.T) {
	for _, c := range []struct {
		name           string
		alive, timeout time.Duration
		open           bool
		want           time.Duration
	}{
		{"ten seconds", 10 * time.Second, 0, true, 800 * time.Millisecond},
		{"less", 10*time.Second - 1, 0, true, 4 * time.Second},
		{"less, until its timeout", 5 * time.Second, 5 * time.Second, true, 800 * time.Millisecond},
		{"less than its timeout", 5*time.Second - 1, 5 * time.Second, true, 4 * time.Second},
		{"ten seconds without an answer", 10 * time.Second, 0, false, 4 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			rules := defaults()
			begun := newStage().at
			p := backoff{answeredStep: 4, afterOutage: true, watchesFullAt: begun.Add(time.Minute)}
			p.after(&watching{asked: begun, open: c.open, timeout: c.timeout}, begun.Add(c.alive))
			if got := p.delay(&rules, toWatch, failed(Denied, 403)); got != c.want {
				t.Errorf("the delay is %v, want %v", got, c.want)
			}
			if !p.watchesFullAt.Equal(begun.Add(time.Minute)) {
				t.Error("the tokens came back with the watch")
			}
		})
	}
}

// A server may ask for an hour at most. Jitter comes on top.
func TestRetryAfter(t *testing.T) {
	rules := defaults()
	for _, c := range []struct{ asked, want time.Duration }{
		{0, 800 * time.Millisecond},
		{7 * time.Second, 7 * time.Second},
		{1 << 30 * time.Second, time.Hour},
	} {
		var p backoff
		failure := failed(Throttled, 429)
		failure.RetryAfter = c.asked
		if got := p.delay(&rules, toList, failure); got != c.want {
			t.Errorf("asked for %v, the delay is %v, want %v", c.asked, got, c.want)
		}
		rules := rules
		rules.Rand = func() float64 { return 0.5 }
		p = backoff{}
		if got := p.delay(&rules, toList, failure); got != c.want+400*time.Millisecond {
			t.Errorf("asked for %v, the delay with jitter is %v, want %v", c.asked, got, c.want+400*time.Millisecond)
		}
	}
}

// The lists of a fleet whose server comes back without a memory are spread evenly over seven
// seconds, after the Retry-After of the server, whatever the watches before it failed with; without
// an outage, a list after a 410 waits for 0.8 s.
func TestListsAfterAnOutageAreSpread(t *testing.T) {
	for _, c := range []struct {
		name               string
		outage             Failure // of a watch, before the one that is answered with 410; none if its reason is zero
		retryAfter         time.Duration
		atLeast, lessThan  time.Duration
		withinOfTheLongest time.Duration
	}{
		{name: "refused connections", outage: failed(Unreachable, 0), lessThan: spread, withinOfTheLongest: spread / 99},
		{name: "503", outage: failed(Unavailable, 503), lessThan: spread, withinOfTheLongest: spread / 99},
		{name: "429", outage: failed(Throttled, 429), lessThan: spread, withinOfTheLongest: spread / 99},
		{name: "403", outage: failed(Denied, 403), lessThan: spread, withinOfTheLongest: spread / 99},
		{name: "404", outage: failed(NotFound, 404), lessThan: spread, withinOfTheLongest: spread / 99},
		{name: "500", outage: failed(Failed, 500), lessThan: spread, withinOfTheLongest: spread / 99},
		{name: "a login page", outage: failed(Malformed, 0), lessThan: spread, withinOfTheLongest: spread / 99},
		{name: "refused connections and Retry-After", outage: failed(Unreachable, 0), retryAfter: time.Minute, atLeast: time.Minute, lessThan: time.Minute + spread, withinOfTheLongest: spread / 99},
		{name: "none", atLeast: 800 * time.Millisecond, lessThan: 1600 * time.Millisecond, withinOfTheLongest: 10 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			var all []time.Duration
			for i := range 100 {
				s := newStage(func(r *Rules) { r.Rand = func() float64 { return float64(i) / 100 } })
				s.listed()
				if c.outage.Reason != 0 {
					s.step(Ended{c.outage})
					s.tick()
				}
				s.step(Ended{Failure{Reason: Expired, Code: 410, RetryAfter: c.retryAfter, Err: errBadField}})
				all = append(all, s.m.Wake().Sub(s.at))
			}
			least, most := slices.Min(all), slices.Max(all)
			if least != c.atLeast || most >= c.lessThan || most < c.lessThan-c.withinOfTheLongest {
				t.Errorf("lists come within [%v, %v], want from %v to almost %v", least, most, c.atLeast, c.lessThan)
			}
		})
	}
}

// Six requests of a kind may follow each other, and then one every ten thirds of a second. Watches
// and lists do not share.
func TestBucketOfTokens(t *testing.T) {
	rules := defaults()
	for _, kind := range []next{toList, toWatch} {
		var p backoff
		begun := newStage().at
		var got []time.Duration
		for now := begun; len(got) < 9; {
			now = now.Add(p.until(&rules, kind, now))
			p.take(&rules, kind, now)
			got = append(got, now.Sub(begun))
		}
		third := refill
		if want := []time.Duration{0, 0, 0, 0, 0, 0, third, 2 * third, 3 * third}; !slices.Equal(got, want) {
			t.Errorf("requests were sent at %v, want %v", got, want)
		}
		if other := toList + toWatch - kind; p.until(&rules, other, begun) != 0 {
			t.Error("requests of the other kind wait for these")
		}
		p.credit(&rules)
		if wait := p.until(&rules, kind, begun.Add(3*third)); wait != 0 {
			t.Errorf("a list that the program asked for waits for %v", wait)
		}
	}
}

// A list waits for a token, also if it follows another one that was of no use. If the program has
// asked for it, it comes at once.
func TestListAfterAListWaitsForAToken(t *testing.T) {
	for _, c := range []struct {
		what   string
		inputs []Input
		atOnce bool
	}{
		{what: "the version is gone", inputs: []Input{Listed{Failure: failed(Expired, 410)}}},
		{what: "the server is behind", inputs: []Input{Listed{Failure: failed(TooLarge, 504)}}},
		{what: "the list is older", inputs: []Input{Listed{Sum: Sum{Version: "90"}}}},
		{what: "the list has another history", inputs: []Input{Listed{Sum: Sum{Version: "110", Conflict: errOtherHistory}}}},
		{what: "the program wants another list", inputs: []Input{ListWanted{1}, Listed{Sum: Sum{Version: "110"}}}, atOnce: true},
	} {
		t.Run(c.what, func(t *testing.T) {
			s := newStage()
			s.settled()
			s.step(Ended{failed(Expired, 410)})
			s.tick()
			s.m.backoff.listsFullAt = s.at.Add(burst * refill)
			for _, in := range c.inputs {
				s.step(in)
			}
			if list, ok := sent[List](s); ok != c.atOnce {
				t.Fatalf("%+v is sent: %v, want %v", list, ok, c.atOnce)
			}
			if !c.atOnce {
				s.pass(refill)
			}
			if list, ok := sent[List](s); !ok || list.Version != "" {
				t.Errorf("%+v is sent: %v, want a list of the most recent state", list, ok)
			}
		})
	}
}

// Whatever goes wrong, no more than 24 watches are opened in any minute, and no more than 24 lists
// are sent, those of single objects and of verifications included.
func TestNoMinuteHasMoreThan24Requests(t *testing.T) {
	seeds := uint64(24)
	if testing.Short() {
		seeds = 12 // every sort of storm
	}
	for seed := range seeds {
		for _, initial := range []InitialList{FromCache, Consistent, Streaming} {
			t.Run(fmt.Sprint(seed, initial), func(t *testing.T) {
				storm := newStorm(seed, initial)
				for end := storm.at.Add(30 * time.Minute); storm.at.Before(end); {
					storm.next()
				}
				storm.check(t, "watches", storm.watches)
				storm.check(t, "lists", storm.lists)
				if len(storm.watches)+len(storm.lists) < 10 {
					t.Errorf("%d requests in half an hour, want the machine to continue", len(storm.watches)+len(storm.lists))
				}
			})
		}
	}
}

// storm is a server that may answer anything.
type storm struct {
	*stage
	dice           *rand.Rand
	version        int
	watches, lists []time.Time
	refetching     bool
	verifying      bool
	refetched      string  // the key of the last refetch
	ends, fails    float64 // how often a stream ends, and an answer is none
	keys           int     // of objects that cannot be decoded
}

func newStorm(seed uint64, initial InitialList) *storm {
	dice := rand.New(rand.NewPCG(seed, uint64(initial)))
	s := newStage(func(r *Rules) {
		r.Initial, r.Rand = initial, dice.Float64
		r.Verify = time.Duration(seed%2) * 5 * time.Second
	})
	return &storm{
		stage: s, dice: dice, version: 100,
		ends: []float64{0.003, 0.03, 0.5}[seed%3], fails: []float64{0.01, 0.5}[seed/3%2], keys: []int{20, 1000}[seed/6%2],
	}
}

// next has something happen, by chance, at what is open.
func (s *storm) next() {
	var within time.Duration // most happens at once, as it does to those who ask too often
	if s.dice.IntN(20) == 0 {
		within = time.Duration(s.dice.Int64N(int64(20 * time.Second)))
	}
	if wake := s.m.Wake(); !wake.IsZero() && !wake.After(s.at.Add(within)) {
		s.at = latest(s.at, wake)
		s.take(Tick{})
		return
	}
	s.at = s.at.Add(within)
	if s.refetching && s.dice.IntN(2) == 0 {
		s.refetching = false
		s.take(s.answer())
		return
	}
	if s.verifying && s.dice.IntN(2) == 0 {
		s.verifying = false
		s.take(s.metadata())
		return
	}
	switch p := s.m.phase.(type) {
	case *waiting:
		s.at = latest(s.at, p.until)
		s.take(Tick{})
	case *listing:
		if s.dice.Float64() >= s.fails {
			s.take(Listed{Sum: s.sum(s.newer(), bad("b", s.newer(), ""), good("a", s.newer(), ""))})
		} else {
			s.take(Listed{Failure: s.failure()})
		}
	case *streaming:
		s.onStream(p.open, s.endsInitial(s.newer(), good("a", s.newer(), "")))
	case *watching:
		s.onStream(p.open, event(object.Modified, bad(fmt.Sprint(s.dice.IntN(s.keys)), s.newer(), "")))
	}
}

func (s *storm) onStream(open bool, e *Seen) {
	switch {
	case s.dice.Float64() < s.ends:
		s.take(Ended{s.failure()})
	case !open:
		s.take(Opened{})
	default:
		s.take(e)
	}
}

// take gives the machine an input, which the sink may refuse, and notes what is sent.
func (s *storm) take(in Input) {
	if s.full = nil; s.dice.IntN(3) == 0 {
		s.full = errBadField
	}
	s.step(in)
	s.note()
	if _, ok := sent[Compare](s.stage); ok {
		s.step(Compared{Differences{Objects: s.dice.IntN(2)}, time.Second})
		s.note()
	}
}

func (s *storm) note() {
	for _, e := range s.effects {
		switch e := e.(type) {
		case Watch:
			s.watches = append(s.watches, s.at)
		case List:
			s.lists = append(s.lists, s.at)
		case Refetch:
			s.lists, s.refetching, s.refetched = append(s.lists, s.at), true, e.Key
		case CancelRefetch:
			s.refetching = false
		case ListMetadata: // the driver may send two
			s.lists, s.verifying = append(s.lists, s.at, s.at), true
		case CancelVerification:
			s.verifying = false
		}
	}
}

func (s *storm) newer() string {
	s.version++
	return fmt.Sprint(s.version)
}

func (s *storm) answer() Refetched {
	switch {
	case s.dice.Float64() < s.fails:
		return Refetched{Failure: s.failure()}
	case s.dice.IntN(50) == 0:
		return Refetched{Version: fmt.Sprint(s.version - s.dice.IntN(50))}
	case s.refetched == "":
		return Refetched{Version: s.newer()}
	default:
		return Refetched{Version: s.newer(), Items: []Item{bad(s.refetched, s.newer(), "")}}
	}
}

func (s *storm) metadata() MetadataListed {
	if s.dice.Float64() < s.fails {
		return MetadataListed{Failure: s.failure()}
	}
	return MetadataListed{Version: fmt.Sprint(s.version)}
}

func (s *storm) failure() Failure {
	return []Failure{
		failed(Closed, 0), failed(ConnectionLost, 0), failed(Unreachable, 0), failed(Unavailable, 503), failed(Throttled, 429), failed(Expired, 410),
		failed(TooLarge, 504), failed(Denied, 403), failed(Failed, 500), failed(Failed, 400), failed(Malformed, 0), failed(NotFound, 404),
	}[s.dice.IntN(12)]
}

// check looks at every minute that begins with a request.
func (s *storm) check(t *testing.T, what string, requests []time.Time) {
	t.Helper()
	for i := range requests {
		if j := i + 24; j < len(requests) && requests[j].Sub(requests[i]) < time.Minute {
			t.Fatalf("25 %s within %v", what, requests[j].Sub(requests[i]))
		}
	}
}
