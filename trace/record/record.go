package record

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/relist-go/relist/trace"
	"github.com/relist-go/relist/transport"
)

// Options of [Record]. The zero value records the ConfigMaps of the namespace
// default.
type Options struct {
	// Path is that of the collection, and Kind that of its objects. If Path is
	// empty, /api/v1/namespaces/default/configmaps; if Kind is, ConfigMap.
	Path string
	Kind string

	// LabelSelector and FieldSelector limit the objects, in the API's own syntax.
	LabelSelector string
	FieldSelector string

	// PageSize is the number of objects asked for in one list request. If zero,
	// it is the client's default.
	PageSize int

	// Full keeps every field of objects. Those of Secrets are then in the trace.
	Full bool

	// Scrub replaces what names the objects and what they hold: names,
	// namespaces, UIDs, labels, annotations, data and every other string, each
	// always by the same pseudonym, so that keys stay in their order. Versions,
	// kinds, names of fields, numbers and what a server says of itself stay.
	Scrub bool

	// Line is told each line of the live conversation as it happens, by the
	// goroutine that called Record. If nil, nobody is.
	Line func(line string)

	// Program is the client that is recorded. If nil, [trace.Mirror].
	Program trace.Program
}

func (o Options) withDefaults() Options {
	if o.Path == "" {
		o.Path = "/api/v1/namespaces/default/configmaps"
	}
	if o.Kind == "" {
		o.Kind = "ConfigMap"
	}
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

	// Raw is the live conversation, with the time of each line. It looks like a
	// trace and is none: nothing waits in it.
	Raw []byte

	// Requests is the number of requests, and Objects that of objects that came in
	// lists and events.
	Requests int
	Objects  int
}

// DivergedError is a recording that cannot be replayed: said again in virtual
// time, the conversation led the client to something else.
type DivergedError struct {
	Live, Replay string // what the client did; "" is nothing
	Err          error  // why the replay could not go on, if that is all
}

// Error says what was done instead of what.
func (e *DivergedError) Error() string {
	if e.Err != nil {
		return "the conversation cannot be replayed: " + e.Err.Error()
	}
	return fmt.Sprintf("the conversation cannot be replayed: the client did %q, and in the replay %q", e.Live, e.Replay)
}

// Unwrap returns Err.
func (e *DivergedError) Unwrap() error { return e.Err }

// Record watches what a client and the server say to each other until ctx ends.
// The recording is not nil where a conversation took place, also if it cannot be
// replayed: the error is then a [DivergedError].
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
	resource, namespace, err := trace.ParsePath(opts.Path)
	if err != nil {
		return nil, err
	}
	reduce := &reducer{kind: opts.Kind, apiVersion: resource.GroupVersion().String(), full: opts.Full}
	t := &tap{upstream: upstream, log: newLog(), reduce: reduce, path: opts.Path}
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

// recording is what there is of a conversation.
func (c *conversation) recording(program trace.Program) (*Recording, error) {
	r := &Recording{Raw: c.raw(), Requests: len(c.exchanges), Objects: c.objects()}
	text, err := c.compose(program)
	r.Trace = text
	return r, err
}

// listen runs the client until ctx ends.
func (t *tap) listen(ctx context.Context, opts Options) (*conversation, error) {
	quiet := context.WithoutCancel(ctx) // what ctx ends is the recording, and then the client
	clientCtx, stop := context.WithCancel(quiet)
	defer stop()
	linkCtx, hangUp := context.WithCancel(quiet)
	defer t.links.Wait()
	defer hangUp()
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
		Problem: func(string, string) {}, // the replay has them again
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
		for { // the queue must not grow for as long as the recording takes
			if _, ok := client.Pop(); !ok {
				break
			}
		}
	}
}

// host is never resolved.
const host = "apiserver.test"

// raw is the conversation as it was.
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

// objects is how many came.
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
