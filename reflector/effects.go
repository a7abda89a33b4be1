package reflector

import (
	"time"

	"github.com/relist-go/relist/listwatch"
)

// input is what the machine is told.
type input interface{ input() }

type (
	// tick: the clock has reached what wake asked for, or more. heard is when the
	// last byte came.
	tick struct{ heard time.Time }

	// listed: the list that was asked for is here, in this many pages. If vain is set,
	// some of it was taken from the sink and may be of another history, and vain says why.
	listed struct {
		version string
		pages   int
		vain    error
	}

	// listFailed: the list that was asked for did not come.
	listFailed struct{ err error }

	// probed: the answer to a probe: the server is at this version. If other is set,
	// that is one of another history, and other says why.
	probed struct {
		version string
		other   error
		err     error
	}

	// opened: the server has answered the watch.
	opened struct{}

	// event: the stream delivered one.
	event struct {
		typ        listwatch.Type
		version    string
		initialEnd bool // a bookmark that ends the initial events
		withheld   bool // there is no object to apply
		news       bool // if it is older than the resume point: it is news for its object
	}

	// ended: the watch was refused, or its stream is over.
	ended struct{ err error }

	// fetched: a Get has brought an object at this version.
	fetched struct{ version string }

	// listWanted: somebody asks for a list that begins now.
	listWanted struct{}

	// sinkFailed: the sink did not take the last replace, apply or resync. What was to
	// follow it has not been performed; unasked says that this was a request. Before it
	// the anchor was this.
	sinkFailed struct {
		err     error
		anchor  anchor
		unasked bool
	}
)

func (tick) input()       {}
func (listed) input()     {}
func (listFailed) input() {}
func (probed) input()     {}
func (opened) input()     {}
func (event) input()      {}
func (ended) input()      {}
func (fetched) input()    {}
func (listWanted) input() {}
func (sinkFailed) input() {}

// effect is what the machine wants done.
type effect interface{ effect() }

type (
	// list: ask for everything.
	list struct {
		version string
		limit   int64
	}

	// refuse: do not use the list that came.
	refuse struct{ err error }

	// replace: give the list that came to the sink.
	replace struct{ version string }

	// watch: open a stream; initial asks for the whole state first.
	watch struct {
		version string
		timeout time.Duration
		initial bool
	}

	// collect: keep the initial event that came for the replace that follows.
	collect struct{}

	// probe: ask for the version of the server's most recent state.
	probe struct{}

	// apply: give the event that came to the sink.
	apply struct{}

	// hangUp: close the stream, for this reason.
	hangUp struct{ err error }

	// resync: have the sink offer everything again.
	resync struct{}

	// bookmark, relist, backoff and problem are for the Trace.
	bookmark struct{ version string }
	relist   struct {
		reason Reason
		err    error
	}
	backoff struct {
		delay  time.Duration
		reason Reason
		err    error
	}
	problem struct {
		class ProblemClass
		err   error
	}
)

func (list) effect()     {}
func (refuse) effect()   {}
func (replace) effect()  {}
func (watch) effect()    {}
func (collect) effect()  {}
func (probe) effect()    {}
func (apply) effect()    {}
func (hangUp) effect()   {}
func (resync) effect()   {}
func (bookmark) effect() {}
func (relist) effect()   {}
func (backoff) effect()  {}
func (problem) effect()  {}
