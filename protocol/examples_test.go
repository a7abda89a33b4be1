package protocol

import (
	"errors"
	"time"

	"github.com/relist-go/relist/object"
)

// section is what can happen in one situation.
type section struct {
	title    string
	anchor   string // of its rows, which a number follows
	text     string
	start    func(*stage) // reaches the situation
	examples []example
}

// example is one input in that situation.
type example struct {
	in     string         // as the table says it
	group  string         // as the drawing says it; empty if it is left out there
	before func(*stage)   // what differs in the situation; nil if nothing does
	input  func(s *stage) // the last step is the one that is printed
}

// in is an input that nothing precedes.
func in(input Input) func(*stage) { return func(s *stage) { s.step(input) } }

// inOf is an input that depends on the machine.
func inOf(input func(*stage) Input) func(*stage) { return func(s *stage) { s.step(input(s)) } }

// timeIsUp is the time that the machine waits for.
func timeIsUp(s *stage) { s.tick() }

// refusedBySink is an input whose effect the sink does not take.
func refusedBySink(input func(*stage)) func(*stage) {
	return func(s *stage) {
		s.full = errors.New("disk full")
		input(s)
	}
}

// both is one after the other.
func both(steps ...func(*stage)) func(*stage) {
	return func(s *stage) {
		for _, step := range steps {
			step(s)
		}
	}
}

func retryAfter(failure Failure, d time.Duration) Failure {
	failure.RetryAfter = d
	return failure
}

// The situations.

func toListAt100(s *stage) {
	s.settled()
	s.step(Ended{failed(Expired, 410)})
}

func toWatchAt100(s *stage) {
	s.settled()
	s.step(Ended{failed(Throttled, 429)})
	s.m.backoff.afterOutage = false // the rows are about a server that has been well
}

func listingAt100(s *stage) {
	toListAt100(s)
	s.tick()
}

func streamingAt100(s *stage) {
	toListAt100(s)
	initialEvents(s)
	s.tick()
	s.step(Opened{})
}

func openingAt100(s *stage) {
	toWatchAt100(s)
	s.at = s.at.Add(time.Minute)
	s.step(Tick{})
}

func fresh(s *stage) { s.m = New(*s.m.rules) }

func initialEvents(s *stage) { s.m.rules.Initial = Streaming }

// typeFits says that the program's type is known to fit the objects.
func typeFits(s *stage) { s.m.rules.TypeFits = func() bool { return true } }

func listCame(version string, items ...Item) func(*stage) {
	return inOf(func(s *stage) Input { return Listed{Sum: s.sum(version, items...)} })
}

func quarantined(s *stage) {
	s.settled()
	s.step(event(object.Modified, bad("b", "105", "95")))
}

func asked(s *stage) {
	quarantined(s)
	s.tick()
}

// unverifiedAt101 has a watch that has brought nothing after an event of b at 101 and a bookmark
// there.
func unverifiedAt101(s *stage) {
	s.settled()
	s.step(event(object.Modified, good("b", "101", "95")))
	s.step(markAt("102"))
	s.step(Ended{failed(Unavailable, 503)})
	s.tick()
	s.step(Opened{})
}

// repeatingTwo has a watch that has to repeat b at 101 and the deletion of c at 102.
func repeatingTwo(s *stage) {
	s.settled()
	s.step(event(object.Modified, good("b", "101", "95")))
	s.step(event(object.Deleted, good("c", "102", "95")))
	s.step(Ended{failed(Unavailable, 503)})
	s.tick()
	s.step(Opened{})
}

// relistedAt90 has a list that followed another history, and a watch after it.
func relistedAt90(s *stage) {
	repeatingTwo(s)
	s.step(event(object.Modified, good("a", "101", "90")))
	s.tick()
	listCame("90", good("a", "80", "90"))(s)
	s.step(Opened{})
}

func savedAndAsked(s *stage) {
	fresh(s)
	s.step(ResumeSaved{savedAt100})
	s.step(Tick{})
	s.step(Opened{})
	s.tick()
}

func refetchedAt110(s *stage) {
	asked(s)
	s.step(Refetched{Version: "110", Items: []Item{good("b", "107", "95")}})
}

func nameless(s *stage) {
	s.settled()
	s.step(event(object.Deleted, Item{Meta: object.Meta{ResourceVersion: "105"}, Err: errBadField}))
}

func verifying(s *stage) {
	s.m.rules.Verify = time.Minute
	s.settled()
	s.step(markAt("101"))
	s.pass(10 * time.Second)
}

// manyBad are events at 106 that cannot be decoded.
func manyBad(count int) func(*stage) {
	return func(s *stage) {
		for i := range count {
			s.step(event(object.Added, bad("k"+string(rune('A'+i/26))+string(rune('a'+i%26)), "106", "")))
		}
	}
}
