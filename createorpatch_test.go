package relist_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist"
	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/controller"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

var shopType = object.Type{Group: "example.com", Version: "v1", Resource: "shops", Kind: "Shop"}

// children is a cache of ConfigMaps that belong to Shops, and the writes that it sends.
type children struct {
	*relist.Resource[*ConfigMap]
	t      *testing.T
	server *apitest.Server
	writes int
}

func newChildren(t *testing.T) *children {
	t.Helper()
	c := &children{t: t}
	server, listener := apitest.StartInMemory(t, apitest.Options{Log: func(r apitest.LoggedRequest) {
		if r.Method != http.MethodGet {
			c.writes++
		}
	}})
	c.server = server
	client, err := transport.NewClient(transport.Config{Server: listener.URL, Dial: listener.Dial})
	must.OK(t, err)
	if c.Resource, err = relist.New(client, configMapType, relist.Options[*ConfigMap]{}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- c.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
		client.Close()
	})
	must.OK(t, c.WaitForSync(ctx))
	return c
}

// ensure is CreateOrModify of a ConfigMap named bakery, for the Shop with this UID, and returns how
// many writes it has sent.
func (c *children) ensure(shop types.UID, prices map[string]string) (writes int, err error) {
	c.t.Helper()
	owner := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "town", Name: "bakery", UID: shop}}
	before := c.writes
	got, err := c.CreateOrModify(c.t.Context(), controller.OwnedMeta(owner, shopType, "bakery"), func(m *ConfigMap) { m.Data = prices })
	if err == nil && !maps.Equal(got.Data, prices) {
		c.t.Errorf("the answer has %v", got.Data)
	}
	synctest.Wait() // for the log and the cache
	return c.writes - before, err
}

func (c *children) wantData(want map[string]string) {
	c.t.Helper()
	if got, _ := c.Store().Get("town/bakery"); got == nil || !maps.Equal(got.Data, want) {
		c.t.Errorf("the ConfigMap is %+v, want the data %v", got, want)
	}
}

func TestCreateOrPatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChildren(t)
		for i, step := range []struct {
			before func() (string, error)
			prices map[string]string
			writes int
		}{
			{nil, map[string]string{"bread": "3"}, 1},
			{nil, map[string]string{"bread": "3"}, 0},
			{nil, map[string]string{"roll": "1"}, 1},
			{func() (string, error) { // somebody writes to it
				return c.server.Patch("configmaps", "town", "bakery", map[string]any{"data": map[string]any{"roll": "9", "cake": "9"}})
			}, map[string]string{"roll": "1"}, 1},
			{func() (string, error) { // that the owner does not decide on
				return c.server.Patch("configmaps", "town", "bakery", map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "b"}}})
			}, map[string]string{"roll": "1"}, 0},
			{func() (string, error) { return c.server.Delete("configmaps", "town", "bakery") }, map[string]string{"roll": "1"}, 1},
		} {
			if step.before != nil {
				if _, err := step.before(); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			}
			if writes, err := c.ensure("1", step.prices); writes != step.writes || err != nil {
				t.Errorf("step %d: %d writes and %v, want %d", i, writes, err, step.writes)
			}
			c.wantData(step.prices)
		}
	})
}

// What belongs to somebody else is left alone, whether the cache has it yet or not.
func TestCreateOrPatchLeavesOthersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChildren(t)
		theirs := map[string]string{"bread": "300"}
		c.server.Stall()
		if _, err := c.server.Create("configmaps", map[string]any{
			"metadata": map[string]any{"namespace": "town", "name": "bakery"}, "data": map[string]any{"bread": "300"},
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.ensure("1", map[string]string{"bread": "3"}); !apierrors.IsAlreadyExists(err) {
			t.Errorf("a ConfigMap that the cache does not have: %v", err)
		}
		must.OK(t, c.server.Resume())
		synctest.Wait()
		writes, err := c.ensure("1", map[string]string{"bread": "3"})
		if want := "configmaps town/bakery does not belong to Shop bakery: it is controlled by another owner, or by none"; writes != 0 || !errors.Is(err, relist.ErrNotOwned) || !strings.Contains(err.Error(), want) {
			t.Errorf("%d writes, and the error %v, want %q", writes, err, want)
		}
		c.wantData(theirs)
		if _, err := c.server.Delete("configmaps", "town", "bakery"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := c.ensure("1", map[string]string{"bread": "3"}); err != nil {
			t.Error(err)
		}
		if _, err := c.ensure("2", map[string]string{"bread": "4"}); !errors.Is(err, relist.ErrNotOwned) { // a Shop that was made anew
			t.Errorf("the ConfigMap of an earlier Shop of this name: %v", err)
		}
		c.wantData(map[string]string{"bread": "3"})
	})
}

// A write from an old state is refused.
func TestCreateOrPatchOfAnOldState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChildren(t)
		if _, err := c.ensure("1", map[string]string{"bread": "3"}); err != nil {
			t.Fatal(err)
		}
		c.server.Stall()
		if _, err := c.server.Patch("configmaps", "town", "bakery", map[string]any{"data": map[string]any{"bread": "9"}}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.ensure("1", map[string]string{"bread": "4"}); !apierrors.IsConflict(err) {
			t.Errorf("another state: %v", err)
		}
		if _, err := c.server.Delete("configmaps", "town", "bakery"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.ensure("1", map[string]string{"bread": "4"}); !apierrors.IsNotFound(err) {
			t.Errorf("a ConfigMap that is gone: %v", err)
		}
		must.OK(t, c.server.Resume())
		synctest.Wait()
		if _, err := c.ensure("1", map[string]string{"bread": "4"}); err != nil {
			t.Error(err)
		}
		c.wantData(map[string]string{"bread": "4"})
	})
}

// While the watch is down, a controller creates an object, and another client deletes it. The list
// that follows lacks the object as the cache did, so no change brings the key back; the note of the
// write does.
func TestObjectThatIsLostBringsItsKeyBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChildren(t)
		queue := controller.NewQueue[string](controller.QueueOptions{})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			ended <- controller.Run(ctx, func(ctx context.Context, _ string) (time.Duration, error) {
				_, err := c.CreateOrModify(ctx, metav1.ObjectMeta{Namespace: "town", Name: "bakery"}, func(*ConfigMap) {})
				return 0, err
			}, controller.Options{Queue: queue, Logger: slog.New(slog.DiscardHandler)}, controller.For(c))
		}()
		synctest.Wait()
		must.OK(t, c.server.FailNext(apitest.Failure{Verb: "watch", For: 20 * time.Second, Status: http.StatusServiceUnavailable}))
		c.server.EndWatches()
		queue.Add("town/bakery")
		synctest.Wait()
		if _, err := c.server.Delete("configmaps", "town", "bakery"); err != nil {
			t.Fatalf("it was not created: %v", err)
		}
		c.server.Compact()
		<-time.After(time.Minute)
		if _, err := c.server.Get("configmaps", "town", "bakery"); err != nil {
			t.Errorf("a minute later: %v", err)
		}
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
	})
}

// ownerless is a ConfigMap that does not say who owns it.
type ownerless struct {
	Metadata struct {
		Namespace       string    `json:"namespace"`
		Name            string    `json:"name"`
		UID             types.UID `json:"uid"`
		ResourceVersion string    `json:"resourceVersion"`
	} `json:"metadata"`
}

func (o *ownerless) GetNamespace() string       { return o.Metadata.Namespace }
func (o *ownerless) GetName() string            { return o.Metadata.Name }
func (o *ownerless) GetUID() types.UID          { return o.Metadata.UID }
func (o *ownerless) GetResourceVersion() string { return o.Metadata.ResourceVersion }

func TestCreateOrPatchRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChildren(t)
		_, err := c.CreateOrModify(t.Context(), metav1.ObjectMeta{GenerateName: "a"}, func(*ConfigMap) {})
		if want := "create or modify configmaps: key of a *v1.ObjectMeta"; err == nil || !strings.HasPrefix(err.Error(), want) || !errors.Is(err, object.ErrNoName) {
			t.Errorf("without a name: %v, want %q", err, want)
		}
		if _, err := c.ensure("1", nil); err != nil {
			t.Fatal(err)
		}
		server, listener := apitest.StartInMemory(t, apitest.Options{})
		if _, err := server.Create("configmaps", map[string]any{"metadata": map[string]any{"namespace": "town", "name": "bakery"}}); err != nil {
			t.Fatal(err)
		}
		client, err := transport.NewClient(transport.Config{Server: listener.URL, Dial: listener.Dial})
		must.OK(t, err)
		t.Cleanup(client.Close)
		thin, err := relist.New(client, configMapType, relist.Options[*ownerless]{})
		must.OK(t, err)
		owner := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "town", Name: "bakery", UID: "1"}}
		meta := controller.OwnedMeta(owner, shopType, "bakery")
		_, err = thin.CreateOrModify(t.Context(), meta, func(*ownerless) {})
		if err == nil || !strings.Contains(err.Error(), "does not keep metadata.ownerReferences") {
			t.Errorf("of a type without owners: %v", err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- thin.Run(ctx) }()
		must.OK(t, thin.WaitForSync(ctx))
		_, err = thin.CreateOrModify(t.Context(), meta, func(*ownerless) {})
		if err == nil || !strings.Contains(err.Error(), "does not say who owns it: embed metav1.ObjectMeta") {
			t.Errorf("of a type without owners, which exists: %v", err)
		}
		if _, err := thin.CreateOrModify(t.Context(), metav1.ObjectMeta{Namespace: "town", Name: "bakery"}, func(*ownerless) {}); err != nil {
			t.Errorf("without an owner: %v", err)
		}
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
	})
}
