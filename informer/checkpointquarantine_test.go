package informer_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/informer/checkpoint"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/transport"
)

// TestSimulationOfRestartsInQuarantine plays random lives to processes that share a file. A process cannot use some objects: its
// transform refuses them. A later process can. Each process begins with the copy of an earlier
// one, and every object that it can use is as the server has it.
func TestSimulationOfRestartsInQuarantine(t *testing.T) {
	quarantined, loaded := 0, 0
	first, last := uint64(0), uint64(max(*seedCount/40, 8))
	if *oneSeed >= 0 {
		first, last = uint64(*oneSeed), uint64(*oneSeed)+1
	}
	for seed := first; seed < last; seed++ {
		synctest.Test(t, func(t *testing.T) {
			s := newMoods(t, seed)
			for range 5 {
				s.process(t, s.dice.IntN(3) == 0)
			}
			s.process(t, true)
			quarantined, loaded = quarantined+s.quarantined, loaded+s.loaded
		})
		if t.Failed() {
			t.Fatalf("this was seed %d", seed)
		}
	}
	if *oneSeed < 0 && (quarantined == 0 || loaded == 0) {
		t.Errorf("%d objects in quarantine, and %d copies loaded: the test has become harmless", quarantined, loaded)
	}
}

// moods is a server with settings in good and bad moods, and the file of the processes.
type moods struct {
	dice   *rand.Rand
	server *apitest.Server
	client *transport.Client
	path   string
	serial int

	quarantined, loaded int
}

func newMoods(t *testing.T, seed uint64) *moods {
	server, listener := apitest.StartInMemory(t, apitest.Options{})
	client, err := transport.NewClient(transport.Config{Server: listener.URL, Dial: listener.Dial})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	s := &moods{dice: rand.New(rand.NewPCG(seed, 7)), server: server, client: client, path: filepath.Join(t.TempDir(), "settings")}
	s.create(t, "always", "good") // the first list must have one object that can be used
	return s
}

func (s *moods) create(t *testing.T, name, mood string) {
	s.serial++
	data := map[string]any{"value": fmt.Sprint(s.serial), "mood": mood}
	if _, err := s.server.Patch("configmaps", "shop", name, map[string]any{"data": data}); err == nil {
		return
	}
	if _, err := s.server.Create("configmaps", map[string]any{"metadata": map[string]any{"namespace": "shop", "name": name}, "data": data}); err != nil {
		t.Fatal(err)
	}
}

func (s *moods) change(t *testing.T) {
	name := fmt.Sprint("c", s.dice.IntN(6))
	if s.dice.IntN(4) == 0 {
		_, _ = s.server.Delete("configmaps", "shop", name) // there may be none
		return
	}
	s.create(t, name, []string{"good", "error"}[s.dice.IntN(2)])
}

// inform makes an informer that can use the bad moods, or not.
func (s *moods) inform(t *testing.T, healed bool) *informer.Informer[*settings] {
	resource, err := listwatch.New(s.client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, listwatch.Options[*settings]{
		Transform: func(obj *settings) (*settings, error) {
			if !healed && obj.Data["mood"] == "error" {
				return nil, errors.New("a bad mood")
			}
			return obj, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return informer.New(resource, informer.Options[*settings]{
		Logger:     slog.New(slog.DiscardHandler),
		Checkpoint: checkpoint.File[*settings](s.path, checkpoint.Options{}), CheckpointEvery: time.Duration(1+s.dice.IntN(20)) * time.Second,
	})
}

// process runs an informer, and leaves the file as it was at some time.
func (s *moods) process(t *testing.T, healed bool) {
	in, told := s.inform(t, healed), map[string]string{}
	if _, err := in.AddHandler(informer.Handler[*settings]{
		OnAdd:    func(obj *settings, _ bool) { told[obj.Name] = obj.Data["value"] },
		OnUpdate: func(_, obj *settings) { told[obj.Name] = obj.Data["value"] },
		OnDelete: func(obj *settings, _ bool) { delete(told, obj.Name) },
	}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- in.Run(ctx) }()
	<-in.Loaded()
	if in.Store().ResourceVersion() != "" {
		s.loaded++
	}
	var copies [][]byte
	for range s.dice.IntN(12) {
		switch s.dice.IntN(6) {
		case 0:
			s.server.Compact()
			if err := s.server.Refuse(time.Second); err != nil {
				t.Fatal(err)
			}
		case 1, 2:
			later(time.Duration(s.dice.IntN(20000)) * time.Millisecond)
		case 3:
			if data, err := os.ReadFile(s.path); err == nil {
				copies = append(copies, data)
			}
		case 4:
			if err := in.Relist(ctx); err != nil {
				t.Fatal(err)
			}
		default:
			s.change(t)
		}
	}
	later(10 * time.Minute)
	s.agree(t, in, told, healed)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Run returned %v", err)
	}
	data, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	copies = append(copies, data)
	if err := os.WriteFile(s.path, copies[s.dice.IntN(len(copies))], 0o600); err != nil {
		t.Fatal(err)
	}
	for range s.dice.IntN(4) {
		s.change(t)
	}
	if s.dice.IntN(5) == 0 {
		s.server.Compact()
	}
}

// agree compares the store and what the handler was told with the server. An object that cannot be used is in quarantine, or the store
// has it from an earlier process, because saved objects are not transformed again.
func (s *moods) agree(t *testing.T, in *informer.Informer[*settings], told map[string]string, healed bool) {
	t.Helper()
	items, _, err := s.server.List("configmaps", "")
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]string{}
	for _, obj := range in.Store().All() {
		has[obj.Name] = obj.Data["value"]
	}
	if !maps.Equal(has, told) {
		t.Errorf("the store has %v, and the handler was told %v", has, told)
	}
	quarantined := map[string]bool{}
	for _, q := range in.Status().Quarantined {
		quarantined[q.Meta.Key] = true
	}
	s.quarantined += len(quarantined)
	exists := map[string]bool{}
	for _, item := range items {
		name, data := item["metadata"].(map[string]any)["name"].(string), item["data"].(map[string]any)
		exists[name] = true
		if has[name] != data["value"] && !quarantined["shop/"+name] || healed && quarantined["shop/"+name] {
			t.Errorf("%s in the mood %v is %q, and the server has %v; in quarantine: %v", name, data["mood"], has[name], data["value"], quarantined["shop/"+name])
		}
	}
	for name := range has {
		if !exists[name] {
			t.Errorf("%s is not on the server", name)
		}
	}
}
