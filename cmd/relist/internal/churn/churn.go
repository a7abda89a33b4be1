// Package churn fills an API server for tests with ConfigMaps, and keeps changing them.
//
// Begin with New, Fill and Run.
package churn

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Resource is what the server calls the objects.
const Resource = "configmaps"

// Server is the part of apitest.Server that is used.
type Server interface {
	Create(resource string, obj map[string]any) (resourceVersion string, err error)
	Patch(resource, namespace, name string, patch map[string]any) (resourceVersion string, err error)
	Delete(resource, namespace, name string) (resourceVersion string, err error)
}

// namespaces is how many the objects are spread over.
const namespaces = 5

// Churner changes a server's objects: of ten changes seven update one, and three delete
// one or create another, so that their number stays near the first. The same seed makes
// the same changes.
type Churner struct {
	server Server

	mu      sync.Mutex
	rand    *rand.Rand
	want    int // the number of objects to stay near
	made    int // so many names were given out
	objects []name
}

type name struct{ namespace, name string }

// New returns a Churner of a server without ConfigMaps.
func New(server Server, seed uint64) *Churner {
	return &Churner{server: server, rand: rand.New(rand.NewPCG(seed, seed))}
}

// Fill creates n objects.
func (c *Churner) Fill(n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.want += n
	for range n {
		if _, err := c.create(); err != nil {
			return err
		}
	}
	return nil
}

// Run makes rate changes a second, as evenly as the clock allows, until ctx ends. It
// returns nil then, and otherwise the error of the server.
func (c *Churner) Run(ctx context.Context, rate float64) error {
	if rate <= 0 {
		<-ctx.Done()
		return nil
	}
	start := time.Now()
	ticker := time.NewTicker(max(time.Millisecond, time.Duration(float64(time.Second)/rate)))
	defer ticker.Stop()
	done := 0
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		// A late tick is made up for, but not a long sleep of the machine.
		due := int(rate * time.Since(start).Seconds())
		if due-done > int(rate)+1 {
			done = due - 1
		}
		for ; done < due && ctx.Err() == nil; done++ {
			if err := c.Change(); err != nil {
				return err
			}
		}
	}
}

// Change makes one change.
func (c *Churner) Change() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	switch dice := c.rand.IntN(10); {
	case len(c.objects) == 0, dice >= 7 && len(c.objects) < c.want:
		_, err = c.create()
	case dice >= 7:
		_, err = c.remove()
	default:
		_, err = c.update()
	}
	return err
}

// Touch makes n updates, and returns the version of the last.
func (c *Churner) Touch(n int) (resourceVersion string, err error) {
	return c.repeat(n, c.update)
}

// Remove deletes n objects, fewer if there are fewer, and returns the version of the
// last deletion.
func (c *Churner) Remove(n int) (resourceVersion string, err error) {
	return c.repeat(n, c.remove)
}

func (c *Churner) repeat(n int, change func() (string, error)) (resourceVersion string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range min(n, len(c.objects)) {
		if resourceVersion, err = change(); err != nil {
			return "", err
		}
	}
	return resourceVersion, nil
}

func (c *Churner) create() (string, error) {
	n := name{fmt.Sprintf("team-%d", c.made%namespaces), fmt.Sprintf("settings-%06d", c.made)}
	c.made++
	rv, err := c.server.Create(Resource, map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata": map[string]any{
			"namespace": n.namespace,
			"name":      n.name,
			"labels":    map[string]any{"app": fmt.Sprintf("app-%d", c.made%20)},
		},
		"data": map[string]any{"revision": "0", "text": fmt.Sprintf("%0256x", c.rand.Uint64())},
	})
	if err != nil {
		return "", fmt.Errorf("create %s/%s: %w", n.namespace, n.name, err)
	}
	c.objects = append(c.objects, n)
	return rv, nil
}

// update and remove meet objects that someone else has deleted: the server may be open
// to others. These are forgotten, and another is made.
func (c *Churner) update() (string, error) {
	i := c.rand.IntN(len(c.objects))
	n := c.objects[i]
	rv, err := c.server.Patch(Resource, n.namespace, n.name, map[string]any{
		"data": map[string]any{"revision": fmt.Sprint(c.rand.Uint32())},
	})
	if apierrors.IsNotFound(err) {
		c.forget(i)
		return c.create()
	}
	if err != nil {
		return "", fmt.Errorf("update %s/%s: %w", n.namespace, n.name, err)
	}
	return rv, nil
}

func (c *Churner) remove() (string, error) {
	i := c.rand.IntN(len(c.objects))
	n := c.objects[i]
	rv, err := c.server.Delete(Resource, n.namespace, n.name)
	if apierrors.IsNotFound(err) {
		c.forget(i)
		return c.create()
	}
	if err != nil {
		return "", fmt.Errorf("delete %s/%s: %w", n.namespace, n.name, err)
	}
	c.forget(i)
	return rv, nil
}

func (c *Churner) forget(i int) {
	last := len(c.objects) - 1
	c.objects[i] = c.objects[last]
	c.objects = c.objects[:last]
}
