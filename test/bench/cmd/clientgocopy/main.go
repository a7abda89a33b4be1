// Command clientgocopy copies Pods into a database with an informer of client-go, in the way its
// users do, for the cases of package cases that have a database.
//
// Handlers queue the changes. A writer writes them in transactions of 500 rows, or of what came in
// 100 ms. The informer does not know what was deleted while the program did not run, so after its
// first list the program reads all keys, and deletes the rows that the list lacks.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/relist-go/relist/test/bench/cases"
	"github.com/relist-go/relist/test/bench/objects"
)

func main() { cases.MainOfCopier("client-go", connect) }

type copier struct {
	config *rest.Config
	access cases.Access
}

func connect(access cases.Access, _ cases.Case) (cases.Copier, error) {
	// As relist does, the informer lists; see clientgobench.
	if err := os.Setenv("KUBE_FEATURE_WatchListClient", "false"); err != nil {
		return nil, err
	}
	config := &rest.Config{Host: access.URL, QPS: -1} // the client does not limit its requests
	config.ContentType = "application/json"           // by default, the client asks for protobuf where the server has it
	return copier{config, access}, nil
}

type row struct{ key, namespace, name, uid, version, object string }

// Transactions are committed when they have batchRows, or batchDelay after the first change of one
// came.
const (
	batchRows  = 500
	batchDelay = 100 * time.Millisecond
)

// Start implements cases.Copier.
func (c copier) Start(ctx context.Context, ledger *cases.Ledger) (cases.Copying, error) {
	to, err := openTable(c.access.Database)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		return nil, err
	}
	pods := informers.NewSharedInformerFactory(client, 0).Core().V1().Pods().Informer()
	if err := pods.SetTransform(dropManagedFields); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &writer{table: to, ledger: ledger, pods: pods, changes: make(chan change, 2*batchRows), cancel: cancel, ended: make(chan struct{})}
	queue := func(c change) {
		select {
		case w.changes <- c:
		case <-ctx.Done():
		}
	}
	handler, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { queue(change{pod: obj.(*corev1.Pod)}) },
		UpdateFunc: func(old, obj any) {
			if pod := obj.(*corev1.Pod); pod.ResourceVersion != old.(*corev1.Pod).ResourceVersion {
				queue(change{pod: pod})
			}
		},
		DeleteFunc: func(obj any) {
			if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
				queue(change{gone: key})
			}
		},
	})
	if err != nil {
		return nil, err
	}
	go pods.RunWithContext(ctx)
	go w.run(ctx)
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), handler.HasSynced) {
			queue(change{synced: true})
		}
	}()
	return w, nil
}

func dropManagedFields(obj any) (any, error) {
	if pod, ok := obj.(*corev1.Pod); ok {
		pod.ManagedFields = nil
	}
	return obj, nil
}

// change is what a handler has queued: a Pod, the key of one that is gone, or that the first list
// is complete.
type change struct {
	pod    *corev1.Pod
	gone   string
	synced bool
}

// writer writes the changes.
type writer struct {
	table   table
	ledger  *cases.Ledger
	pods    cache.SharedIndexInformer
	changes chan change
	ready   atomic.Bool
	cancel  context.CancelFunc
	ended   chan struct{}

	open    bool
	pending int // changes in the transaction
	changed int // rows
	version uint64
}

func (w *writer) Ready() bool { return w.ready.Load() }

func (w *writer) Stop() error {
	w.cancel()
	<-w.ended
	return w.table.close()
}

func (w *writer) run(ctx context.Context) {
	var timer <-chan time.Time
	for {
		var err error
		select {
		case <-ctx.Done():
			close(w.ended)
			return
		case <-timer:
			timer, err = nil, w.commit()
		case c := <-w.changes:
			if timer == nil {
				timer = time.After(batchDelay)
			}
			if err = w.apply(c); err == nil && (w.pending >= batchRows || c.synced) {
				timer, err = nil, w.commit()
			}
			if err == nil && c.synced {
				w.ready.Store(true)
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "clientgocopy:", err)
			os.Exit(1)
		}
	}
}

func (w *writer) apply(c change) error {
	if !w.open {
		if err := w.table.begin(); err != nil {
			return err
		}
		w.open = true
	}
	w.pending++
	switch {
	case c.synced:
		return w.sweep()
	case c.pod == nil:
		return w.count(w.table.remove(c.gone))
	}
	pod := c.pod
	// client-go's typed objects have neither, and a reader of the table wants them.
	object := *pod
	object.Kind, object.APIVersion = "Pod", "v1"
	data, err := json.Marshal(&object)
	if err != nil {
		return err
	}
	sent, _ := strconv.ParseInt(pod.Annotations[objects.SentAnnotation], 10, 64) // 0 if the Pod has no such annotation
	w.ledger.Wrote(sent)
	w.version = max(w.version, cases.Version(pod.ResourceVersion))
	return w.count(w.table.put(row{pod.Namespace + "/" + pod.Name, pod.Namespace, pod.Name, string(pod.UID), pod.ResourceVersion, string(data)}))
}

func (w *writer) count(changed bool, err error) error {
	if changed {
		w.changed++
	}
	return err
}

// sweep deletes the rows that the informer does not have.
func (w *writer) sweep() error {
	keys, err := w.table.keys()
	if err != nil {
		return err
	}
	for _, key := range keys {
		if _, exists, err := w.pods.GetStore().GetByKey(key); err == nil && !exists {
			if err := w.count(w.table.remove(key)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *writer) commit() error {
	if !w.open {
		return nil
	}
	if err := w.table.commit(); err != nil {
		return err
	}
	w.ledger.Committed(w.version, w.changed)
	w.open, w.pending, w.changed = false, 0, 0
	return nil
}
