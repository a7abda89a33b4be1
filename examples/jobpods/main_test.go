package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/examples/internal/program"
	"github.com/relist-go/relist/transport"
)

func TestMain(m *testing.M) { program.Main(m, main) }

func pod(name, app, phase string) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"namespace": "jobs", "name": name, "labels": map[string]any{"app": app}},
		"status":   map[string]any{"phase": phase},
	}
}

// Every step is one snapshot, however many Pods it has: an event, and all of an outage. A later run
// prints what has happened since the last one had ended.
func TestJobPods(t *testing.T) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	file := filepath.Join(t.TempDir(), "copy")
	synctest.Test(t, func(t *testing.T) {
		server, listener := apitest.StartInMemory(t, apitest.Options{})
		must := program.Must(t)
		selector := "app=count"
		begin := func() (end func(want string)) {
			return program.InMemory(t, listener, func(ctx context.Context, config transport.Config, out io.Writer) error {
				return run(ctx, config, out, selector, file)
			})
		}
		label := func(name, app string) {
			t.Helper()
			must(server.Patch("pods", "jobs", name, map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": app}}}))
		}
		for _, name := range []string{"driver", "exec-1", "exec-2"} {
			must(server.Create("pods", pod(name, "count", "Pending")))
		}
		must(server.Create("pods", pod("web", "shop", "Running")))
		end := begin()

		label("exec-1", "spare") // it leaves the application, and comes back
		synctest.Wait()
		label("exec-1", "count")
		synctest.Wait()

		// While the server cannot be reached, two Pods go, one of them comes again, and the server
		// forgets the events.
		if err := server.Refuse(time.Hour); err != nil {
			t.Fatal(err)
		}
		must(server.Delete("pods", "jobs", "exec-1"))
		must(server.Delete("pods", "jobs", "exec-2"))
		must(server.Create("pods", pod("exec-2", "count", "Pending")))
		server.Compact()
		<-time.After(time.Hour + time.Minute)
		end(`saved: []
[jobs/driver jobs/exec-1 jobs/exec-2] [+jobs/driver Pending +jobs/exec-1 Pending +jobs/exec-2 Pending]
[jobs/driver jobs/exec-2] [-jobs/exec-1 Pending]
[jobs/driver jobs/exec-1 jobs/exec-2] [+jobs/exec-1 Pending]
[jobs/driver jobs/exec-2] [-jobs/exec-1 Pending -jobs/exec-2 Pending +jobs/exec-2 Pending]
`)

		// While no process runs, a Pod goes and another one comes, and the server forgets it.
		behind := server.Replica("b")
		behind.Freeze()
		must(server.Delete("pods", "jobs", "exec-2"))
		must(server.Create("pods", pod("exec-3", "count", "Pending")))
		server.Compact()
		end = begin()
		<-time.After(time.Minute)
		end(`saved: [jobs/driver jobs/exec-2]
[jobs/driver jobs/exec-3] [-jobs/exec-2 Pending +jobs/exec-3 Pending]
`)

		// The next run meets a replica that is behind the last one, and does not go back.
		server.Route(behind)
		end = begin()
		<-time.After(time.Minute)
		behind.Unfreeze()
		must(server.Delete("pods", "jobs", "exec-3"))
		<-time.After(time.Minute)
		end(`saved: [jobs/driver jobs/exec-3]
[jobs/driver] [-jobs/exec-3 Pending]
`)

		// A copy that is damaged, or of another application, is not used.
		must("", os.Truncate(file, 10))
		end = begin()
		<-time.After(time.Minute)
		end("saved: []\n[jobs/driver] [+jobs/driver Pending]\n")
		selector = "app=shop"
		end = begin()
		<-time.After(time.Minute)
		end("saved: []\n[jobs/web] [+jobs/web Running]\n")
	})
}

// What cannot work is said at once.
func TestBadArguments(t *testing.T) { program.New(t, "").Fails("usage") }
