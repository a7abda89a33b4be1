package main

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/examples/internal/program"
)

func event(name, at, message string) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"namespace": "shop", "name": name}, "type": "Warning", "reason": "BackOff", "message": message,
		"lastTimestamp": at, "involvedObject": map[string]any{"kind": "Pod", "name": "web-0"},
	}
}

// Old Events come in the order of their times, each state comes once, and a relist prints only what
// is new.
func TestEventsTail(t *testing.T) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	synctest.Test(t, func(t *testing.T) {
		server, listener := apitest.StartInMemory(t, apitest.Options{})
		must := program.Must(t)
		must(server.Create("events", event("a", "2000-01-01T00:02:00Z", "second")))
		must(server.Create("events", event("b", "2000-01-01T00:01:00Z", "first")))

		end := program.InMemory(t, listener, run)
		must(server.Patch("events", "shop", "a", map[string]any{"message": "third", "lastTimestamp": "2000-01-01T00:03:00Z"}))
		synctest.Wait()
		server.EndWatches()
		must(server.Delete("events", "shop", "b"))
		must(server.Create("events", event("c", "2000-01-01T00:04:00Z", "fourth")))
		server.Compact() // a list follows
		<-time.After(time.Minute)
		end(`2000-01-01 00:01:00  shop       Warning  BackOff            Pod/web-0: first
2000-01-01 00:02:00  shop       Warning  BackOff            Pod/web-0: second
2000-01-01 00:03:00  shop       Warning  BackOff            Pod/web-0: third
2000-01-01 00:04:00  shop       Warning  BackOff            Pod/web-0: fourth
`)
	})
}
