// Read-your-writes counts to ten in a ConfigMap. It writes to the server and reads from a cache,
// and waits in between until the cache has what it has written. Run several of them at once: each
// goes on from the number of the other.
//
//	kubectl proxy &
//	go run ./examples/read-your-writes http://127.0.0.1:8001
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist"
	"github.com/relist-go/relist/controller/writer"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

// ConfigMap has the fields of a ConfigMap that this program uses. The server keeps the others: no
// write here touches them.
type ConfigMap struct {
	metav1.ObjectMeta `json:"metadata"`
	Data              map[string]string `json:"data,omitempty"`
}

// Counter is a ConfigMap that counts.
type Counter struct {
	key        string
	configMaps *relist.Resource[*ConfigMap]
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[len(os.Args)-1], os.Stdout)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, server string, out io.Writer) error {
	client, err := transport.NewClient(transport.Config{Server: server})
	if err != nil {
		return err
	}
	defer client.Close()
	counter, err := NewCounter(client, "default/counter")
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = counter.configMaps.Run(ctx) // ends with ctx; countToTen learns of it, too
	}()
	err = counter.countToTen(ctx, out)
	stop()
	<-ended
	return err
}

// NewCounter makes a counter of the ConfigMap under a key. Its cache is still to be run.
func NewCounter(client *transport.Client, key string) (*Counter, error) {
	typ := object.Type{Version: "v1", Resource: "configmaps", Kind: "ConfigMap"}
	configMaps, err := relist.New(client, typ, relist.Options[*ConfigMap]{Writer: writer.Options{FieldManager: "counter"}})
	if err != nil {
		return nil, err
	}
	return &Counter{key: key, configMaps: configMaps}, nil
}

func (c *Counter) countToTen(ctx context.Context, out io.Writer) error {
	if err := c.configMaps.WaitForSync(ctx); err != nil {
		return err
	}
	for n := 0; n < 10; {
		var err error
		if n, err = c.Raise(ctx); err != nil {
			return err
		}
		_, _ = fmt.Fprintln(out, n)
	}
	return nil
}

// Raise adds one to the number in the cache, and returns what the cache has then. If somebody else
// comes first, it begins again from the number of the other.
func (c *Counter) Raise(ctx context.Context) (int, error) {
	for {
		had, exists := c.configMaps.Store().Get(c.key)
		written, err := c.write(ctx, had, exists)
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) { // the cache was behind
			err = c.configMaps.WaitUntil(ctx, c.key, func(now *ConfigMap, existsNow bool) bool {
				return existsNow && (!exists || now.ResourceVersion != had.ResourceVersion)
			})
			if err == nil {
				continue
			}
		}
		if err != nil {
			return 0, err
		}
		if err := c.configMaps.WaitForVersion(ctx, written.ResourceVersion); err != nil {
			return 0, err
		}
		has, _ := c.configMaps.Store().Get(c.key) // as it was written, or newer
		return number(has), nil
	}
}

// write writes the next number, if the ConfigMap is still as the cache had it.
func (c *Counter) write(ctx context.Context, had *ConfigMap, exists bool) (*ConfigMap, error) {
	count := func(m *ConfigMap) { m.Data = map[string]string{"number": strconv.Itoa(number(had) + 1)} }
	if !exists {
		namespace, name, err := object.SplitKey(c.key)
		if err != nil {
			return nil, err
		}
		return c.configMaps.CreateFrom(ctx, metav1.ObjectMeta{Namespace: namespace, Name: name}, count)
	}
	return c.configMaps.Modify(ctx, had, count)
}

// number reads a ConfigMap, which may be nil.
func number(c *ConfigMap) int {
	if c == nil {
		return 0
	}
	n, _ := strconv.Atoi(c.Data["number"])
	return n
}
