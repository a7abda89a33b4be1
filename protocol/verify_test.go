package protocol

import (
	"testing"
	"time"
)

// A list without a version leaves no version to verify at. The machine then waits for the next
// period; it does not want a tick again and again.
func TestVerificationWithoutAVersionIsPutOff(t *testing.T) {
	s := newStage(func(r *Rules) { r.Verify, r.MinTimeout = 10*time.Minute, 0 })
	s.step(Tick{})
	s.step(Listed{Sum: s.sum("", good("a", "", ""))})
	s.step(Opened{})
	s.at = s.m.Wake()
	s.step(Tick{})
	if at := s.m.Wake(); !at.Equal(s.at.Add(10 * time.Minute)) {
		t.Errorf("the next tick is wanted after %v, want 10m", at.Sub(s.at))
	}
}

// While the machine waits because the server asked it to, what a verification finds does not cut
// the wait short.
func TestDifferencesDoNotCutAWaitShort(t *testing.T) {
	s := newStage(func(r *Rules) { r.Verify, r.MinTimeout = time.Minute, 0 })
	s.settled()
	s.pass(30 * time.Second)
	if _, ok := sent[ListMetadata](s); !ok {
		t.Fatalf("no metadata is asked for, but %v", s.effects)
	}
	s.step(Ended{Failure{Reason: Throttled, Code: 429, RetryAfter: time.Minute, Err: errBadField}})
	until := s.m.Wake()
	s.step(MetadataListed{Version: "100"})
	s.step(Compared{Differences: Differences{Count: maxDifferences + 1}})
	if list, ok := sent[List](s); ok {
		t.Errorf("%+v is sent before the wait is over", list)
	}
	s.at = until
	s.step(Tick{})
	if list, ok := sent[List](s); !ok || list.Version != "" || list.Reuse {
		t.Errorf("the effects after the wait are %v, want a list of the most recent state, decoded whole", s.effects)
	}
}

// A verification takes its turn among lists and refetches, and takes two tokens, because it may be
// two lists.
func TestVerificationTakesTokens(t *testing.T) {
	s := newStage(func(r *Rules) { r.Verify = time.Minute })
	s.settled()
	s.step(markAt("101"))
	s.m.backoff.listsFullAt = s.m.verify.next.Add(burst * refill)
	s.pass(s.m.verify.next.Sub(s.at))
	if list, ok := sent[ListMetadata](s); ok {
		t.Fatalf("%+v, without a token", list)
	}
	full := s.m.backoff.listsFullAt
	s.pass(refill)
	if list, ok := sent[ListMetadata](s); ok {
		t.Fatalf("%+v, with one token", list)
	}
	s.pass(refill)
	if _, ok := sent[ListMetadata](s); !ok {
		t.Fatalf("no verification when there are two tokens, but %+v", s.effects)
	}
	if got := s.m.backoff.listsFullAt; !got.Equal(full.Add(2 * refill)) {
		t.Errorf("the bucket is full at %v, want %v: a verification takes two tokens", got, full.Add(2*refill))
	}
}
