package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/informer/checkpoint"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"
)

// measured is what one start took. Times are since Run was called.
type measured struct {
	Readable, Synced time.Duration // when the store had the objects, and when it had synced
	Listed           int64         // objects in lists of everything
	Asked            int64         // lists of one object
	RSS, Peak        float64       // MB, with the save at the end; RSS after the garbage was collected
}

// start runs one informer until it has synced, and then until it has saved its copy.
func start(ctx context.Context, o options, out io.Writer) error {
	config, err := transport.LoadKubeconfig(transport.KubeconfigOptions{Path: o.kubeconfig})
	if err != nil {
		return err
	}
	client, err := transport.NewClient(config)
	if err != nil {
		return err
	}
	defer client.Close()
	var m measured
	switch {
	case o.slim:
		m, err = startOf[*slimPod](ctx, client, o)
	case o.resource == "pods":
		m, err = startOf[*corev1.Pod](ctx, client, o)
	case o.resource == "configmaps":
		m, err = startOf[*corev1.ConfigMap](ctx, client, o)
	default:
		err = fmt.Errorf("no type for %s: want pods or configmaps", o.resource)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(m)
}

// slimPod has the fields that a load balancer uses.
type slimPod struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		NodeName   string `json:"nodeName"`
		Containers []struct {
			Name  string `json:"name"`
			Image string `json:"image"`
			Ports []struct {
				Name          string `json:"name"`
				ContainerPort int32  `json:"containerPort"`
			} `json:"ports"`
		} `json:"containers"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
		PodIP string `json:"podIP"`
	} `json:"status"`
}

// counting counts the lists of one object.
type counting[T object.Object] struct {
	*listwatch.Resource[T]

	asked *atomic.Int64
}

func (c counting[T]) List(ctx context.Context, opts metav1.ListOptions) (*listwatch.Page[T], error) {
	if opts.FieldSelector != "" {
		c.asked.Add(1)
	}
	return c.Resource.List(ctx, opts)
}

func startOf[T object.Object](ctx context.Context, client *transport.Client, o options) (m measured, err error) {
	resource, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: o.resource}, listwatch.Options[T]{Drop: o.drop()})
	if err != nil {
		return m, err
	}
	var listed, asked atomic.Int64
	in := informer.New(listwatch.ListWatcher[T](counting[T]{resource, &asked}), informer.Options[T]{
		Checkpoint: checkpoint.File[T](o.file, checkpoint.Options{Version: "1"}),
		// While it is measured, only the first list of a cold start is saved.
		CheckpointEvery: -1,
		Logger:          slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Reflector: reflector.Options{Trace: &reflector.Trace{ListDone: func(d reflector.ListDone) {
			listed.Add(int64(d.Items))
		}}},
	})
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	began, done := time.Now(), make(chan error, 1)
	go func() { done <- in.Run(ctx) }()
	select {
	case <-in.Loaded():
	case err := <-done:
		return m, err
	}
	warm := in.Store().ResourceVersion() != ""
	if warm {
		m.Readable = round(time.Since(began))
	}
	if err := in.WaitForSync(ctx); err != nil {
		return m, err
	}
	m.Synced = round(time.Since(began))
	if !warm {
		m.Readable = m.Synced
	}
	m.Asked = asked.Load()
	if n := in.Store().Len(); n < o.objects {
		return m, fmt.Errorf("the store has %d objects, want %d", n, o.objects)
	}
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		return m, err
	}
	m.Listed = listed.Load() // ListDone may come after the store has the list
	if m.Peak, err = memory("VmHWM"); err != nil {
		return m, err
	}
	debug.FreeOSMemory()
	m.RSS, err = memory("VmRSS")
	runtime.KeepAlive(in)
	return m, err
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// memory returns a number of MB of /proc/self/status.
func memory(name string) (float64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(value)[0], 64)
			return kb / 1024, err
		}
	}
	return 0, fmt.Errorf("no %s in /proc/self/status", name)
}
