// Package record makes golden traces of live conversations.
//
//	reflector ──plain HTTP/1.1 in memory──> tap ──transport.Client──> API server
//
// The recorded client is the one that a replay runs: a [trace.Program], without
// jitter. It talks to a tap in the same process. The tap sends the same requests to
// the API server, passes the answers on piece by piece, and records every piece with
// its time. It passes a piece on only after the client has taken the one before. So
// the recording knows which piece made the client close.
//
// The recording is then replayed, in virtual time, to a second client of the same
// kind. That second conversation is the trace, so the trace passes. The requests of
// both clients are compared. If they differ, the trace would not show what was
// recorded, so the result is a [DivergedError] and the raw recording.
//
// A trace has only the identities of objects, and the conversation is in JSON over HTTP: a
// trace shows how list and watch work, and the same rules hold for every encoding and over
// WebSocket. Credentials are not recorded: the transport behind the tap adds them to
// requests, and removes them from answers.
//
// Begin with Record.
package record

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/relist-go/relist/internal/target"
	"github.com/relist-go/relist/trace"
	"github.com/relist-go/relist/transport"
)

// Options of [Record].
type Options struct {
	// Path is the path of the collection, and Kind the kind of its objects.
	Path string
	Kind string

	// LabelSelector and FieldSelector limit the objects, in the API's own syntax.
	LabelSelector string
	FieldSelector string

	// PageSize is the number of objects asked for in one list request. If zero, the
	// client's default is used.
	PageSize int

	// Scrub replaces names, namespaces, UIDs, selectors and continue tokens by pseudonyms,
	// which sort like the originals, so keys stay in their order. Of a Status it keeps the
	// code, the reason if Kubernetes has it, the seconds to wait, and a message about
	// resourceVersions. The resource, its group, version and kind stay, and versions that
	// are numbers.
	Scrub bool

	// Line is called with each line of the live conversation as it happens, on the
	// goroutine that called Record. If nil, no function is called.
	Line func(line string)

	// Program makes the client that is recorded. If nil, [trace.Mirror] is used.
	Program trace.Program
}

func (o Options) withDefaults() Options {
	if o.Line == nil {
		o.Line = func(string) {}
	}
	if o.Program == nil {
		o.Program = trace.Mirror
	}
	return o
}

// Recording is what [Record] returns.
type Recording struct {
	// Trace is a trace that passes. It is nil if there is none.
	Trace []byte

	// Raw is the live conversation, with the time of each line. It looks like a trace,
	// but cannot be run, because it has no waits.
	Raw []byte

	// Unsynced says why the client has not got the whole state once: it is the last problem that
	// the client had. It is nil if the client has synced. It is about the live conversation, so it
	// is never scrubbed.
	Unsynced error

	// Requests is the number of requests. Objects is the number of objects in lists and
	// events.
	Requests int
	Objects  int
}

// DivergedError is the error for a recording that cannot be replayed, because the
// client did something else when the conversation was replayed in virtual time.
type DivergedError struct {
	Live, Replay string // what the client did in each; "" if it did nothing
	Err          error  // why the replay could not continue, or nil
}

// Error says what the client did live and in the replay.
func (e *DivergedError) Error() string {
	if e.Err != nil {
		return "the conversation cannot be replayed: " + e.Err.Error()
	}
	return fmt.Sprintf("the conversation cannot be replayed: the client did %q, and in the replay %q", e.Live, e.Replay)
}

// Unwrap returns Err.
func (e *DivergedError) Unwrap() error { return e.Err }

// Record records the conversation of a client and the server until ctx ends. If there
// was a conversation, the recording is not nil. If the conversation cannot be
// replayed, Record returns the recording and a [DivergedError].
//
// Do not call Record from two goroutines.
func Record(ctx context.Context, upstream *transport.Client, opts Options) (*Recording, error) {
	opts = opts.withDefaults()
	c, err := listen(ctx, upstream, opts)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	if opts.Scrub {
		c = scrub(c)
	}
	return c.recording(opts.Program)
}

// listen is the live half of Record.
func listen(ctx context.Context, upstream *transport.Client, opts Options) (*conversation, error) {
	resource, namespace, err := target.Collection(opts.Path)
	if err != nil {
		return nil, err
	}
	t := &tap{
		upstream: upstream, path: opts.Path,
		log:    &log{began: time.Now(), news: make(chan struct{}, 1), changed: make(chan struct{})},
		reduce: &reducer{kind: opts.Kind, apiVersion: resource.GroupVersion().String()},
	}
	c, err := t.listen(ctx, opts)
	if err != nil {
		return nil, err
	}
	c.about = about{
		path: opts.Path, kind: opts.Kind, resource: resource.Resource, namespace: namespace,
		labels: opts.LabelSelector, fields: opts.FieldSelector, pageSize: opts.PageSize,
	}
	return c, nil
}

func (c *conversation) recording(program trace.Program) (*Recording, error) {
	r := &Recording{Raw: c.raw(), Unsynced: c.unsynced, Requests: len(c.exchanges), Objects: c.objects()}
	text, err := c.compose(program)
	r.Trace = text
	return r, err
}

// listen runs the client until ctx ends.
func (t *tap) listen(ctx context.Context, opts Options) (*conversation, error) {
	quiet := context.WithoutCancel(ctx) // ctx ends the recording, which then ends the client
	clientCtx, stop := context.WithCancel(quiet)
	defer stop()
	linkCtx, disconnect := context.WithCancel(quiet)
	defer t.links.Wait()
	defer disconnect()
	client, err := opts.Program(trace.Env{
		Server: "http://" + host,
		Path:   opts.Path,
		Kind:   opts.Kind,
		Dial:   t.dialer(linkCtx),
		Options: trace.Options{
			Limit:         opts.PageSize,
			LabelSelector: opts.LabelSelector,
			FieldSelector: opts.FieldSelector,
		},
		Rand:    func() float64 { return 0 }, // as in the replay
		Problem: t.log.problem,
	})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	done := make(chan error, 1)
	go func() { done <- client.Run(clientCtx) }()
	for {
		select {
		case <-ctx.Done():
			c := t.log.stop()
			popAll(client)
			if !client.Synced() {
				c.unsynced = t.log.lastProblem()
			}
			stop()
			if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
				return nil, fmt.Errorf("the client was stopped: %w", err)
			}
			return c, nil
		case err := <-done:
			if err == nil {
				return nil, errors.New("the client ended by itself, and Run did not say why: a nil error")
			}
			return nil, fmt.Errorf("the client ended by itself: %w", err)
		case <-t.log.news:
		}
		for _, line := range t.log.take() {
			opts.Line(line)
		}
		popAll(client) // without that, the queue would grow during the whole recording
	}
}

func popAll(client trace.Client) {
	for {
		if _, ok := client.Pop(); !ok {
			return
		}
	}
}

// host is never resolved.
const host = "apiserver.test"

// raw returns the live conversation as text.
func (c *conversation) raw() []byte {
	var b strings.Builder
	for _, s := range c.steps() {
		fmt.Fprintf(&b, "# %.3fs\n", s.at.Seconds())
		if s.what == nil {
			b.WriteString("> GET " + s.of.target + "\n")
			continue
		}
		if s.what == said(hungUp) {
			b.WriteString(string(hungUp) + "\n")
		}
		for _, line := range s.what.lines() {
			b.WriteString(line + "\n")
		}
	}
	return []byte(b.String())
}

func (c *conversation) objects() int {
	n := 0
	for _, x := range c.exchanges {
		for _, i := range x.items {
			switch what := i.what.(type) {
			case *list:
				n += len(what.objects)
			case *event:
				n++
			}
		}
	}
	return n
}
