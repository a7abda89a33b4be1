package protocol

import (
	"slices"
	"testing"
	"time"
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
