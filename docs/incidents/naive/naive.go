// Package naive has clients as one writes them first. Each fails in a way that a page beside it
// explains.
package naive

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/relist-go/relist/trace"
)

// Programs are the clients, by the names that traces have for them.
var Programs = map[string]trace.Program{
	"naive-last-seen":         program(lastSeen),
	"naive-forgetful":         program(forgetful),
	"naive-restarting":        program(restarting),
	"naive-insistent":         program(insistent),
	"naive-without-bookmarks": program(withoutBookmarks),
	"naive-on-a-timer":        program(onATimer),
	"naive-delayed":           program(delayed),
	"naive-with-timeout":      program(withTimeout),
	"naive-slow":              program(slow),
	"naive-swapped":           program(swapped),
	"naive-patient":           program(patient),
	"naive-ignored-deletion":  program(ignoredDeletion),
	"naive-list-at-zero":      program(withoutBookmarks), // where that fault of it is shown
}

// lastSeen remembers the version of the last event, and opens the next watch there.
func lastSeen(ctx context.Context, c *client) error {
	version := c.given // "" if the user gave none
	for {
		for e := range c.watch(ctx, version) {
			if e.Type == "ERROR" {
				return errors.New(e.Object.Message) // too old resource version
			}
			version = e.Object.Metadata.ResourceVersion
			c.deliver(e)
		}
		if !pause(ctx, time.Second) {
			return ctx.Err()
		}
	}
}

// forgetful does the same, and gives the version up when it is refused.
func forgetful(ctx context.Context, c *client) error {
	version := ""
	for {
		for e := range c.watch(ctx, version) {
			if e.Type == "ERROR" {
				version = ""
				break
			}
			version = e.Object.Metadata.ResourceVersion
			c.deliver(e)
		}
		if !pause(ctx, c.wait) {
			return ctx.Err()
		}
	}
}

// Live is forgetful outside a trace: with a server on the network, and another wait before each
// watch than a second.
func Live(server, path string, wait time.Duration) trace.Client {
	return &client{
		env:  trace.Env{Server: server, Path: path},
		http: http.Client{Transport: &http.Transport{}},
		run:  forgetful,
		wait: wait,
		held: map[string]string{},
	}
}

// restarting begins again whenever a watch is over.
func restarting(ctx context.Context, c *client) error {
	for ctx.Err() == nil {
		for e := range c.watch(ctx, "") {
			if e.Type == "ERROR" {
				break
			}
			c.deliver(e)
		}
	}
	return ctx.Err()
}

// insistent lists again at the version that it knows, until it gets it.
func insistent(ctx context.Context, c *client) error {
	version := "0"
	for {
		if next, err := c.list(ctx, version); err == nil {
			version = next
			for e := range c.watch(ctx, version) {
				if e.Type == "ERROR" {
					break
				}
				version = e.Object.Metadata.ResourceVersion
				c.deliver(e)
			}
		}
		if !pause(ctx, time.Second) {
			return ctx.Err()
		}
	}
}

// withoutBookmarks lists and watches, and lists again when the watch is refused.
func withoutBookmarks(ctx context.Context, c *client) error {
	for ctx.Err() == nil {
		version, err := c.list(ctx, "0")
		if err != nil {
			return err
		}
		for expired := false; !expired && ctx.Err() == nil; {
			for e := range c.watch(ctx, version) {
				if e.Type == "ERROR" {
					expired = true
					break
				}
				version = e.Object.Metadata.ResourceVersion
				c.deliver(e)
			}
		}
	}
	return ctx.Err()
}

// onATimer lists every minute, too, whatever the watch does. At 410 it lists, and waits before the
// next watch.
func onATimer(ctx context.Context, c *client) error {
	version, err := c.list(ctx, "")
	if err != nil {
		return err
	}
	go func() {
		for err := error(nil); err == nil && pause(ctx, time.Minute); {
			_, err = c.list(ctx, "")
		}
	}()
	for {
		delay := time.Second
		for e := range c.watch(ctx, version) {
			if e.Type == "ERROR" {
				if version, err = c.list(ctx, ""); err != nil {
					return err
				}
				delay = 5 * time.Second
				break
			}
			version = e.Object.Metadata.ResourceVersion
			c.deliver(e)
		}
		if !pause(ctx, delay) {
			return ctx.Err()
		}
	}
}

// delayed waits for 5 seconds before it starts again.
func delayed(ctx context.Context, c *client) error {
	for {
		for e := range c.watch(ctx, "") {
			if e.Type == "ERROR" {
				break
			}
			c.deliver(e)
		}
		if !pause(ctx, 5*time.Second) {
			return ctx.Err()
		}
	}
}

// withTimeout gives each request 30 seconds, a watch too.
func withTimeout(ctx context.Context, c *client) error {
	c.http.Timeout = 30 * time.Second
	return withoutBookmarks(ctx, c)
}

// slow runs the user's code in the loop that reads the watch.
func slow(ctx context.Context, c *client) error {
	c.busy = 30 * time.Second
	return withoutBookmarks(ctx, c)
}

// swapped was given a label where the version belongs.
func swapped(ctx context.Context, c *client) error {
	c.given = "app=db"
	return lastSeen(ctx, c)
}

// patient asks for the state as initial events, and hands them over when a bookmark says that they
// are complete.
func patient(ctx context.Context, c *client) error {
	for {
		var state []event
		complete := false
		for e := range c.stream(ctx, "?allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&watch=true") {
			if e.Type == "ERROR" {
				break
			}
			if e.Type != "BOOKMARK" {
				state = append(state, e)
			} else if e.Object.Metadata.Annotations["k8s.io/initial-events-end"] == "true" {
				complete = true
			}
			for complete && len(state) > 0 {
				c.deliver(state[0])
				state = state[1:]
			}
		}
		if !pause(ctx, time.Second) {
			return ctx.Err()
		}
	}
}

// ignoredDeletion is told of a deletion that nobody saw, and ignores it.
func ignoredDeletion(ctx context.Context, c *client) error {
	c.typed = true
	return withoutBookmarks(ctx, c)
}
