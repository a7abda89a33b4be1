package trace

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/relist-go/relist/internal/pipe"
	"github.com/relist-go/relist/internal/target"
	"github.com/relist-go/relist/internal/visible"
)

// peer is the server's side of a run. It records what the client does, and sends
// only what the trace tells it to send.
type peer struct {
	headers []string      // of requests, to be recorded
	http2   bool          // the client speaks HTTP/2 on every connection
	visible chan struct{} // holds a token if something was recorded

	readers sync.WaitGroup // one goroutine per connection

	mu       sync.Mutex
	links    []*link
	numbered int        // links and streams
	requests []*request // oldest first
	notes    []note
	said     []note    // what the program says it did
	refusals int       // dials that will fail
	random   []float64 // what the client draws: the first one until it has sent a watch
	ended    error     // says that the program has ended by itself, and why
	err      error
}

// link is one connection, or one stream of it.
type link struct {
	number int // in order of dialling and asking
	conn   *pipe.Conn
	in     *bufio.Reader // reads from conn
	hungUp bool          // by the client
	socket *socket       // the WebSocket that the connection was upgraded to, or nil
	frames *frames       // HTTP/2 on the connection, or nil
	stream uint32        // of HTTP/2; 0 for the connection
}

// has reports whether l is other, or the connection of the stream other.
func (l *link) has(other *link) bool {
	return l == other || other != nil && l.stream == 0 && l.conn == other.conn
}

// request is a request, and how much of its answer was sent.
type request struct {
	link     *link
	wish     *wish
	asks     *http.Request // the request if it asks for a WebSocket, or nil
	started  bool          // the head of the answer was sent
	gzip     bool          // each chunk of the answer is a gzip file of its own
	answered bool          // the whole answer was
}

// note records one action of the client.
type note struct {
	at     time.Time
	link   *link // of a close; nil if the note is in order already
	closed bool
	lines  []string
}

func newPeer() *peer {
	return &peer{visible: make(chan struct{}, 1)}
}

// dial makes a connection, and starts the goroutine that reads from it.
func (p *peer) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refusals > 0 {
		p.refusals--
		p.note(note{lines: []string{"> refused"}})
		return nil, pipe.Refused()
	}
	client, server := pipe.New()
	p.numbered++
	l := &link{number: p.numbered, conn: server, in: bufio.NewReader(server)}
	p.links = append(p.links, l)
	if p.http2 {
		l.frames = newFrames(l)
		p.readers.Go(func() { p.readFrames(l) })
		return client, nil
	}
	p.readers.Go(func() { p.read(l) })
	return client, nil
}

// read records the requests on a connection until the client closes it.
func (p *peer) read(l *link) {
	r := l.in
	for {
		var req *http.Request
		_, err := r.Peek(1)
		if s := p.socketOf(l); s != nil {
			p.readSocket(l, s)
			return
		}
		if err == nil {
			req, err = http.ReadRequest(r)
		}
		if err == nil {
			_, err = io.Copy(io.Discard, req.Body)
		}
		if err != nil {
			p.closed(l, err)
			return
		}
		p.requested(l, req)
	}
}

func (p *peer) requested(l *link, req *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked := target.Of(req)
	if p.random != nil {
		asked = target.Exactly(req)
	}
	if len(p.random) > 1 && req.URL.Query().Has("watch") {
		p.random = p.random[1:]
	}
	n := note{link: l, lines: []string{"> " + req.Method + " " + asked}}
	for _, name := range p.headers {
		for _, value := range req.Header.Values(name) {
			n.lines = append(n.lines, "> "+name+": "+value)
		}
	}
	if l.stream != 0 {
		p.numbered++
		l.number = p.numbered
	}
	p.requests = append(p.requests, &request{link: l, wish: wishOf(req), asks: handshake(req)})
	p.note(n)
}

func (p *peer) rand() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.random == nil {
		return 0
	}
	return p.random[0]
}

// closed records a close if the answer to a request was not complete. It does
// not record that a client closes an idle connection.
func (p *peer) closed(l *link, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.hungUp = true
	_ = l.conn.Close()
	given := len(p.notes)
	p.notes = slices.DeleteFunc(p.notes, func(n note) bool { // net/http may give its streams up first, or not
		return n.closed && n.link != l && l.has(n.link) && n.at.Equal(time.Now())
	})
	owed := len(p.notes) < given
	for _, r := range p.requests {
		if l.has(r.link) && !r.answered {
			r.answered, owed = true, true
		}
	}
	switch {
	case errors.Is(err, net.ErrClosed): // the server's own doing: cut or reset
	case !errors.Is(err, io.EOF):
		p.err = errors.Join(p.err, fmt.Errorf("the client sent something that is no request: %w", err))
	case owed:
		p.note(note{link: l, closed: true, lines: []string{"> close"}})
	}
}

// note needs mu.
func (p *peer) note(n note) {
	n.at = time.Now()
	p.notes = append(p.notes, n)
	select {
	case p.visible <- struct{}{}:
	default: // the channel holds a token already
	}
}

// problem records a problem that the program reports.
func (p *peer) problem(class, key string, _ error) {
	text := "! " + class
	if key != "" {
		text += " " + key
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note(note{lines: []string{text}})
}

// say records what the program says it did. It ends no wait, because a wait is for the client's
// next request.
func (p *peer) say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if line == "" {
		p.err = errors.Join(p.err, errors.New("the program says an empty line, which a trace cannot have"))
		return
	}
	p.said = append(p.said, note{at: time.Now(), lines: []string{"= " + visible.OneLine(line)}})
}

// stopped records that the program has ended without a stop.
func (p *peer) stopped(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = fmt.Errorf("the program has ended: %w", cmp.Or(err, errors.New("Run returned nil")))
	p.note(note{lines: []string{"= stopped"}})
}

// take returns the notes since the last call, in order, and an error if the
// client broke the protocol.
//
// The notes of one instant are in the order of their causes, except closes,
// because a client does not wait until the server sees that it closed a
// connection, or gave a stream up. take puts each close before all other notes,
// but after those of the same connection or stream. What the program says comes
// last, because its goroutine and the client's do not wait for each other.
func (p *peer) take() ([]note, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	notes := p.notes
	p.notes = nil
	for i, n := range notes {
		if !n.closed {
			continue
		}
		at := i
		for at > 0 && notes[at-1].before(n) {
			at--
		}
		copy(notes[at+1:i+1], notes[at:i])
		notes[at] = n
	}
	notes = append(notes, p.said...)
	p.said = nil
	slices.SortStableFunc(notes, func(a, b note) int { return a.at.Compare(b.at) })
	return notes, p.err
}

// before reports whether the close h belongs before n, which was recorded
// earlier.
func (n note) before(h note) bool {
	switch {
	case !n.at.Equal(h.at):
		return false
	case n.closed:
		return n.link.number > h.link.number
	}
	return !h.link.has(n.link)
}

var errNoRequest = errors.New("no request waits for an answer")

// notAsked says what to do with a file that was recorded of another program.
const notAsked = "if the program asks for something else than the file has, take this line out"

// newest returns the request that the next answer is for.
func (p *peer) newest() (*request, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range slices.Backward(p.requests) {
		if !r.answered {
			return r, nil
		}
	}
	if p.ended != nil {
		return nil, fmt.Errorf("%w: %w", errNoRequest, p.ended)
	}
	return nil, fmt.Errorf("%w: if the program asks later, put wait above; %s", errNoRequest, notAsked)
}

// streaming returns the newest request whose answer has begun and not ended.
func (p *peer) streaming() (*request, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range slices.Backward(p.requests) {
		if r.started && !r.answered {
			return r, true
		}
	}
	return nil, false
}

// send writes to a request's connection. It ignores an error, because the
// goroutine that reads records a close.
func (p *peer) send(r *request, data []byte) {
	_, _ = r.link.conn.Write(data)
}

// finish records that a request has its whole answer.
func (p *peer) finish(r *request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r.answered = true
}

// refuse makes the next dial fail.
func (p *peer) refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refusals++
}

// leaked returns how many connections the client left open.
func (p *peer) leaked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, l := range p.links {
		if !l.hungUp {
			n++
		}
	}
	return n
}

// shutDown closes every connection and waits for their goroutines.
func (p *peer) shutDown() {
	p.mu.Lock()
	links := slices.Clone(p.links)
	p.mu.Unlock()
	for _, l := range links {
		_ = l.conn.Close()
	}
	p.readers.Wait()
}
