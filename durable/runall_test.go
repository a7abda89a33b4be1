package durable_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
)

// Programs that open the same copies at the same time: one of them keeps all copies, and the others
// are fenced. Then the next program takes over.
func TestProgramsThatStartTogether(t *testing.T) {
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			dice := rand.New(rand.NewPCG(seed, 3))
			r := newRig(t)
			r.create("a", "x", nil)
			places := []*place{newPlace(), newPlace(), newPlace()}
			var log strings.Builder
			logger := slog.New(slog.NewTextHandler(&log, nil))
			start := func() (stop func() (int, error)) {
				var mirrors []*durable.Mirror[*thing]
				for _, p := range places {
					configs, err := listwatch.New(r.client, configMaps, listwatch.Options[*thing]{})
					must.OK(t, err)
					c := p.open(t)
					pace, calls := rand.New(rand.NewPCG(dice.Uint64(), 1)), 0
					c.fail = func(string) (before, after error) {
						if calls++; calls <= 3 { // Load, Begin and Commit: later, a Mirror calls under a lock
							<-time.After(time.Duration(pace.IntN(20)) * time.Millisecond)
						}
						return nil, nil
					}
					m, err := durable.New(configs, c, durable.Options{Stream: durable.StreamOf("c1", configMaps, listwatch.Options[*thing]{}, ""), Logger: logger})
					must.OK(t, err)
					mirrors = append(mirrors, m)
				}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan struct{})
				var index int
				var err error
				go func() {
					defer close(ended)
					index, err = durable.RunAll(ctx, mirrors...)
				}()
				return func() (int, error) {
					cancel()
					<-ended
					return index, err
				}
			}
			for round := range 2 {
				var stops []func() (int, error)
				for range 2 + dice.IntN(2) {
					stops = append(stops, start())
					<-time.After(time.Duration(dice.IntN(30)) * time.Millisecond)
				}
				later(30 * time.Second)
				r.create("a", fmt.Sprint("x", round), nil)
				later(time.Second)
				stayed := 0
				for _, stop := range stops {
					switch index, err := stop(); {
					case index == -1 && errors.Is(err, context.Canceled):
						stayed++
					case index < 0 || !errors.Is(err, durable.ErrFenced):
						t.Errorf("RunAll returned %d, %v", index, err)
					}
				}
				if stayed != 1 {
					t.Fatalf("seed %d: of %d programs, %d go on, want 1", seed, len(stops), stayed)
				}
			}
			for i, p := range places {
				if p.state.Point.Version == "" || p.state.Claim != places[0].state.Claim || p.state.Writer != places[0].state.Writer {
					t.Errorf("copy %d: %+v; want a version, and the writer of the others", i, p.state)
				}
			}
		})
	}
}
