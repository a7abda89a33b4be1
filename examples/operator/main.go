// Operator keeps a Service and an entry in a directory for each Shop, with a finalizer, conditions,
// Events and two replicas. docs/guides/operator.md explains it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist"
	"github.com/relist-go/relist/controller"
	"github.com/relist-go/relist/controller/events"
	"github.com/relist-go/relist/controller/lease"
	"github.com/relist-go/relist/controller/writer"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

var shopType = object.Type{Group: "example.com", Version: "v1", Resource: "shops", Kind: "Shop"}

// Shop is what people write: its Pods have the label shop with its name, and listen on a port.
type Shop struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Port int `json:"port"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status"`
}

// Service has the fields of a Service that the operator decides on.
type Service struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Selector map[string]string `json:"selector,omitempty"`
		Ports    []ServicePort     `json:"ports,omitempty"`
	} `json:"spec"`
}

type ServicePort struct {
	Port       int `json:"port"`
	TargetPort int `json:"targetPort"`
}

// ConfigMap is an entry of the directory.
type ConfigMap struct {
	metav1.ObjectMeta `json:"metadata"`

	Data map[string]string `json:"data,omitempty"`
}

const (
	namespace = "shop-system" // of the operator, of the directory, and of the Lease
	finalizer = "example.com/directory"
)

type operator struct {
	caches   *informer.Group
	shops    *relist.Resource[*Shop]
	services *relist.Resource[*Service]
	entries  *relist.Resource[*ConfigMap]
	leader   *lease.Lease
	events   *events.Recorder
}

func main() {
	probes := flag.String("probes", ":8080", "where /livez and /readyz are")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := start(ctx, *probes)
	stop()
	if !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

func start(ctx context.Context, probes string) error {
	client, err := transport.FromKubeconfig(transport.KubeconfigOptions{}) // of a pod, or as kubectl does
	if err != nil {
		return err
	}
	defer client.Close()
	op, err := newOperator(client)
	if err != nil {
		return err
	}
	server := &http.Server{Addr: probes, Handler: op.caches.Handler(), ReadHeaderTimeout: 10 * time.Second}
	go func() { log.Fatal(server.ListenAndServe()) }()
	return op.run(ctx)
}

func newOperator(client *transport.Client) (*operator, error) {
	shops, err := relist.New(client, shopType, relist.Options[*Shop]{})
	if err != nil {
		return nil, err
	}
	services, err := relist.New(client, object.Type{Version: "v1", Resource: "services", Kind: "Service"}, relist.Options[*Service]{})
	if err != nil {
		return nil, err
	}
	entries, err := relist.New(client, object.Type{Version: "v1", Resource: "configmaps", Kind: "ConfigMap"}, relist.Options[*ConfigMap]{
		ListWatch: listwatch.Options[*ConfigMap]{Namespace: namespace},
	})
	if err != nil {
		return nil, err
	}
	leader, err := lease.New(client, lease.Options{Namespace: namespace, Name: "shop-operator"})
	if err != nil {
		return nil, err
	}
	recorder, err := events.New(client, events.Options{Controller: "example.com/shop-operator"})
	if err != nil {
		return nil, err
	}
	caches := informer.NewGroup()
	err = errors.Join(caches.Add("shops", shops), caches.Add("services", services), caches.Add("directory", entries))
	return &operator{caches, shops, services, entries, leader, recorder}, err
}

func (o *operator) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { _ = o.events.Run(ctx) }) // returns when ctx has ended, and the last Event was sent
	defer beside.Wait()
	defer stop()
	return controller.Run(ctx, o.reconcile, controller.Options{Leader: o.leader},
		controller.For(o.shops, func(was, is *Shop) bool { return was.Generation != is.Generation }),
		controller.Owns(o.services, shopType),
		controller.Watches(o.entries, func(entry *ConfigMap) []string { return []string{entry.Data["shop"]} }))
}

func (o *operator) reconcile(ctx context.Context, key string) (time.Duration, error) {
	shop, exists := o.shops.Store().Get(key)
	if !exists {
		return 0, nil
	}
	if shop.DeletionTimestamp != nil {
		return 0, o.close(ctx, shop)
	}
	var err error
	if !slices.Contains(shop.Finalizers, finalizer) { // before there is an entry
		shop, err = o.shops.Modify(ctx, shop, func(s *Shop) { s.Finalizers = append(s.Finalizers, finalizer) })
		if err != nil {
			return 0, err
		}
	}
	ready := metav1.Condition{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: "Open", Message: fmt.Sprintf("sells on port %d", shop.Spec.Port),
		ObservedGeneration: shop.Generation,
	}
	kind := events.Normal
	if err = o.open(ctx, shop); apierrors.IsInvalid(err) {
		ready.Status, ready.Reason, ready.Message, kind = metav1.ConditionFalse, "Invalid", err.Error(), events.Warning
		err = controller.Terminal(err) // until the Shop is another
	} else if err != nil {
		return 0, err
	}
	changed := false
	_, failed := o.shops.ModifyStatus(ctx, shop, func(s *Shop) { changed = meta.SetStatusCondition(&s.Status.Conditions, ready) })
	if failed != nil {
		return 0, failed
	}
	if changed {
		o.events.Event(shop, shopType, kind, ready.Reason, "Open", "%s", ready.Message)
	}
	return 0, err
}

// open makes what a Shop needs.
func (o *operator) open(ctx context.Context, shop *Shop) error {
	_, err := o.services.CreateOrModify(ctx, controller.OwnedMeta(shop, shopType, shop.Name), func(s *Service) {
		s.Spec.Selector = map[string]string{"shop": shop.Name}
		s.Spec.Ports = []ServicePort{{Port: 80, TargetPort: shop.Spec.Port}}
	})
	if err != nil {
		return err
	}
	_, err = o.entries.CreateOrModify(ctx, entryOf(shop), func(entry *ConfigMap) {
		entry.Data = map[string]string{"shop": object.Key(shop), "host": shop.Name + "." + shop.Namespace + ".svc"}
	})
	return err
}

// close removes what the cluster does not delete with a Shop, and then lets the Shop go.
func (o *operator) close(ctx context.Context, shop *Shop) error {
	if !slices.Contains(shop.Finalizers, finalizer) {
		return nil
	}
	entry := entryOf(shop)
	if err := o.entries.Delete(ctx, object.Key(&entry), writer.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	_, err := o.shops.Modify(ctx, shop, func(s *Shop) {
		s.Finalizers = slices.DeleteFunc(s.Finalizers, func(f string) bool { return f == finalizer })
	})
	return err
}

// entryOf is in another namespace than the Shop, so the Shop cannot own it.
func entryOf(shop *Shop) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: shop.Namespace + "." + shop.Name}
}
