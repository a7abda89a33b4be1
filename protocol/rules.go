package protocol

import "time"

// Rules are the options of a reflector, with every default filled in.
type Rules struct {
	PageSize            int64         // objects a page; 0 leaves it to the machine, negative is no limit
	Initial             InitialList   // how the whole state is asked for
	Resync              time.Duration // 0 for never
	MinTimeout          time.Duration // of a watch; 0 leaves it to the server, and then there is no timer
	ResponseIdleTimeout time.Duration // how long an answer may be idle; 0 forever
	Base, Cap           time.Duration // of delays; if Base is 0, which tests may want, there are neither delays nor limits
	Verify              time.Duration // the period of verifications; 0 for never

	// SinkTells says that the sink says what it holds.
	SinkTells bool

	// TypeFits reports whether the program's type is known to fit the objects; nil if nothing is
	// known.
	TypeFits func() bool

	// Rand returns a number in [0, 1).
	Rand func() float64
}

// InitialList is a way to ask for the whole state.
type InitialList uint8

// The ways to ask for the whole state; package reflector says what each is good for.
const (
	FromCache InitialList = iota
	Consistent
	Streaming
)

// usualBase is the default of Base. Some other times in this package are meant for this Base. If a
// program sets another Base, [Rules.scaled] changes them in proportion.
const usualBase = 800 * time.Millisecond

// scaled returns a time in proportion to Base.
func (r *Rules) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * float64(r.Base) / float64(usualBase))
}

// jitter returns a time in [0, d).
func (r *Rules) jitter(d time.Duration) time.Duration { return time.Duration(r.Rand() * float64(d)) }
