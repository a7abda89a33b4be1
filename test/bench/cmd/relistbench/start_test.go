package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/informer/checkpoint"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/test/bench/load"
	"github.com/relist-go/relist/test/bench/objects"
	"github.com/relist-go/relist/transport"
)

// starter starts informers of the Pods of one server, one after the other, with a checkpoint in a
// file.
type starter struct {
	pods  *listwatch.Client[*corev1.Pod]
	file  string
	count int
}

func newStarter(tb testing.TB, count int) starter {
	tb.Helper()
	set, err := objects.Pods("../../../../testdata/pods-300.json.gz", count)
	if err != nil {
		tb.Fatal(err)
	}
	server := load.New(set, false).Listen(false)
	tb.Cleanup(server.Close)
	client, err := transport.NewClient(transport.Config{Server: server.URL})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.Close)
	pods, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, listwatch.Options[*corev1.Pod]{})
	if err != nil {
		tb.Fatal(err)
	}
	return starter{pods, filepath.Join(tb.TempDir(), "checkpoint"), count}
}

// start starts an informer, which has synced when start returns. It returns what ends the informer,
// and the number of objects in lists of everything.
func (s starter) start(tb testing.TB) (end func() (listed int64)) {
	tb.Helper()
	var listed atomic.Int64
	in := informer.New(s.pods, informer.Options[*corev1.Pod]{
		Checkpoint: checkpoint.File[*corev1.Pod](s.file, checkpoint.Options{}), CheckpointEvery: -1,
		Logger: slog.New(slog.DiscardHandler),
		Reflector: reflector.Options{Trace: &reflector.Trace{ListDone: func(d reflector.ListDone) {
			listed.Add(int64(d.Items))
		}}},
	})
	ctx, cancel := context.WithCancel(tb.Context())
	ended := make(chan error, 1)
	go func() { ended <- in.Run(ctx) }()
	if err := in.WaitForSync(ctx); err != nil {
		tb.Fatal(err)
	}
	if n := in.Store().Len(); n != s.count {
		tb.Fatalf("the store has %d objects, want %d", n, s.count)
	}
	return func() int64 {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			tb.Fatal(err)
		}
		return listed.Load()
	}
}

// A start without a checkpoint lists everything, and one with a checkpoint lists nothing.
func TestStartWithACheckpoint(t *testing.T) {
	s := newStarter(t, 300)
	if listed := s.start(t)(); listed != 300 {
		t.Errorf("without a checkpoint, %d objects were listed, want 300", listed)
	}
	if listed := s.start(t)(); listed != 0 {
		t.Errorf("with a checkpoint, %d objects were listed, want none", listed)
	}
}

// BenchmarkStart measures the time until an informer of 20,000 Pods has synced.
func BenchmarkStart(b *testing.B) {
	for _, kind := range []string{"cold", "warm"} {
		b.Run(kind, func(b *testing.B) {
			s := newStarter(b, 20_000)
			s.start(b)() // makes the file, and is not measured
			for b.Loop() {
				b.StopTimer()
				if kind == "cold" {
					if err := os.Remove(s.file); err != nil {
						b.Fatal(err)
					}
				}
				b.StartTimer()
				end := s.start(b)
				b.StopTimer()
				end()
				b.StartTimer()
			}
		})
	}
}
