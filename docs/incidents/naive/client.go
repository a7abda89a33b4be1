package naive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/relist-go/relist/trace"
)

// client is what the programs have in common: requests, and
// a copy of what they were told.
type client struct {
	env  trace.Env
	http http.Client
	run  func(context.Context, *client) error

	given string        // the version that the user gave
	wait  time.Duration // before the next watch
	busy  time.Duration // how long the user's code runs for an event
	typed bool          // the user's code ignores what is no object, as a missed deletion is

	mu      sync.Mutex
	entries []string
	held    map[string]string // versions by key
}

// program makes a trace.Program of the part that each of them does in its own way.
func program(run func(context.Context, *client) error) trace.Program {
	return func(env trace.Env) (trace.Client, error) {
		return &client{
			env:  env,
			http: http.Client{Transport: &http.Transport{DialContext: env.Dial}},
			run:  run,
			wait: time.Second,
			held: map[string]string{},
		}, nil
	}
}

// object is a ConfigMap or a Status.
type object struct {
	Metadata struct {
		Namespace, Name, ResourceVersion string
		Annotations                      map[string]string
	}
	Data    map[string]string
	Message string
}

type event struct {
	Type   string
	Object object
}

// watch is a stream from a version on. Without a version, none is asked for.
func (c *client) watch(ctx context.Context, version string) iter.Seq[event] {
	query := "?watch=true"
	if version != "" {
		query = "?resourceVersion=" + version + "&watch=true"
	}
	return c.stream(ctx, query)
}

// stream yields the events of one watch until it ends.
func (c *client) stream(ctx context.Context, query string) iter.Seq[event] {
	return func(yield func(event) bool) {
		next, disconnect, err := c.open(ctx, query)
		if err != nil {
			return
		}
		defer disconnect()
		for {
			var e event
			if next(&e) != nil || !yield(e) {
				return
			}
		}
	}
}

// open asks for a stream, in a body or over WebSocket as the trace wants it.
func (c *client) open(ctx context.Context, query string) (next func(any) error, disconnect func(), err error) {
	if c.env.Options.Transport == "websocket" {
		dialer := websocket.Dialer{NetDialContext: c.env.Dial}
		url := "ws" + strings.TrimPrefix(c.env.Server, "http") + c.env.Path + query
		conn, _, err := dialer.DialContext(ctx, url, http.Header{"Origin": {c.env.Server}}) //nolint:bodyclose // that is the connection
		if err != nil {
			return nil, nil, err
		}
		context.AfterFunc(ctx, func() { _ = conn.Close() })
		return conn.ReadJSON, func() { _ = conn.Close() }, nil
	}
	ctx, cancel := context.WithCancel(ctx) // Close alone may leave the connection open
	resp, err := c.get(ctx, query)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	disconnect = func() { cancel(); resp.Body.Close() }
	if resp.StatusCode != http.StatusOK {
		disconnect()
		return nil, nil, errors.New(resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode, disconnect, nil
}

// list replaces what is held, and returns the version of the list.
func (c *client) list(ctx context.Context, version string) (string, error) {
	query := ""
	if version != "" {
		query = "?resourceVersion=" + version
	}
	resp, err := c.get(ctx, query)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var list struct {
		Metadata struct{ ResourceVersion string }
		Items    []object
		Message  string
	}
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		return "", err
	}
	_, _ = io.Copy(io.Discard, resp.Body) // so that the connection is used again
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("list: %s", list.Message)
	}
	c.replace(list.Items)
	return list.Metadata.ResourceVersion, nil
}

func (c *client) get(ctx context.Context, query string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.env.Server+c.env.Path+query, nil)
	if err != nil {
		return nil, err
	}
	return c.http.Do(req)
}

func (c *client) replace(items []object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := maps.Clone(c.held)
	clear(c.held)
	for _, item := range items {
		delete(before, item.key())
		c.held[item.key()] = item.Metadata.ResourceVersion
		c.entries = append(c.entries, item.key()+" Listed@"+item.Metadata.ResourceVersion)
	}
	if c.typed {
		for _, key := range slices.Sorted(maps.Keys(before)) {
			c.held[key] = before[key]
			c.entries = append(c.entries, key+" MissedDeletion@"+before[key])
		}
	}
}

// deliver hands an event over.
func (c *client) deliver(e event) {
	<-time.After(c.busy)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held[e.Object.key()] = e.Object.Metadata.ResourceVersion
	if e.Type == "DELETED" {
		delete(c.held, e.Object.key())
	}
	c.entries = append(c.entries, fmt.Sprintf("%s %s@%s", e.Object.key(), e.Type, e.Object.Metadata.ResourceVersion))
}

func (o object) key() string { return o.Metadata.Namespace + "/" + o.Metadata.Name }

// pause waits, and reports whether to continue.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

func (c *client) Run(ctx context.Context) error {
	err := c.run(ctx, c)
	if err != nil && ctx.Err() == nil {
		c.env.Problem("watch", "", err)
	}
	return err
}

func (c *client) Pop() (entry string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) == 0 {
		return "", false
	}
	entry, c.entries = c.entries[0], c.entries[1:]
	return entry, true
}

func (c *client) Store() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var lines []string
	for key, version := range c.held {
		lines = append(lines, key+"@"+version)
	}
	slices.Sort(lines)
	return lines
}

func (c *client) Synced() bool { return false } // none of them knows
func (c *client) Close()       { c.http.CloseIdleConnections() }
