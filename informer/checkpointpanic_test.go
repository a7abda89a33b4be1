package informer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/reflector"
)

// spoiled is a Checkpointer whose code panics.
type spoiled struct {
	keeper

	loads, saves bool // these calls panic
}

func (s *spoiled) Load(ctx context.Context, of string) ([]*thing, reflector.Point, error) {
	if s.loads {
		panic("load is spoiled")
	}
	return s.keeper.Load(ctx, of)
}

func (s *spoiled) Save(ctx context.Context, of string, at reflector.Point, objects iter.Seq[*thing]) error {
	if s.saves {
		panic("save is spoiled")
	}
	return s.keeper.Save(ctx, of, at, objects)
}

// A Checkpointer that panics costs the copy, and nothing else: the goroutine that saves is the informer's, so nobody could recover.
func TestCheckpointerThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		f, k := newFake("ns/a"), &spoiled{loads: true, saves: true}
		opts := kept(&k.keeper, time.Minute, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})))
		opts.Checkpoint = k
		r := newRig(t, f, opts)
		r.start()
		for range 3 {
			f.set("ns/a", 1)
			later(time.Minute)
		}
		r.agree()
		r.end()
		for _, want := range []string{"load is spoiled", "save is spoiled"} {
			if got := strings.Count(log.String(), want); got != 1 {
				t.Errorf("the log says %q %d times, want once:\n%s", want, got, log.String())
			}
		}
	})
}

// touchy is an object that cannot be written if its value is 13.
type touchy struct{ thing }

func (o *touchy) MarshalJSON() ([]byte, error) {
	if o.Value == 13 {
		panic("unlucky")
	}
	return json.Marshal(o.thing)
}

// An object whose code panics when it is written spoils the copy, and leaves no unfinished file.
func TestFileOfAnObjectThatPanics(t *testing.T) {
	folder := t.TempDir()
	file := informer.FileCheckpoint[*touchy](filepath.Join(folder, "things"), informer.FileOptions{})
	good, bad := &touchy{}, &touchy{}
	good.Name, bad.Name, bad.Value = "good", "bad", 13
	err := file.Save(t.Context(), `{}`, reflector.Point{Version: "1"}, func(yield func(*touchy) bool) { _ = yield(good) && yield(bad) })
	if err == nil || !strings.Contains(err.Error(), "object bad") || !strings.Contains(err.Error(), "unlucky") {
		t.Errorf("Save returned %v", err)
	}
	if left, _ := os.ReadDir(folder); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}
