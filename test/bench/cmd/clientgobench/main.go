// Command clientgobench runs a case with client-go, in the way its users do. See package cases.
package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/relist-go/relist/test/bench/cases"
	"github.com/relist-go/relist/test/bench/objects"
)

func main() { cases.Main("client-go", connect) }

type client struct{ config *rest.Config }

// mediaTypes has the values for rest.Config.ContentType.
var mediaTypes = map[objects.Format]string{
	objects.JSON:     "application/json",
	objects.Protobuf: "application/vnd.kubernetes.protobuf",
}

func connect(access cases.Access, c cases.Case) (cases.Client, error) {
	config := &rest.Config{Host: access.URL, QPS: -1} // the client does not limit its requests
	config.Insecure = access.HTTP2
	config.ContentType = mediaTypes[c.Spec.Encoding]
	return client{config}, nil
}

// Start implements cases.Client.
func (c client) Start(ctx context.Context, spec cases.Spec, handlers ...cases.Handler) (cases.Informer, error) {
	in, err := c.informer(spec)
	if err != nil {
		return nil, err
	}
	if spec.Object == cases.Slim {
		if err := in.SetTransform(strip); err != nil {
			return nil, err
		}
	}
	if spec.ByNode {
		byNode := func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Spec.NodeName}, nil }
		if err := in.AddIndexers(cache.Indexers{"node": byNode}); err != nil {
			return nil, err
		}
	}
	for _, handle := range handlers {
		_, err := in.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { handle(obj, true) },
			UpdateFunc: func(_, obj any) { handle(obj, false) },
		})
		if err != nil {
			return nil, err
		}
	}
	go in.RunWithContext(ctx)
	return running{in}, nil
}

func (c client) informer(spec cases.Spec) (cache.SharedIndexInformer, error) {
	if spec.Object == cases.Unstructured {
		client, err := dynamic.NewForConfig(c.config)
		if err != nil {
			return nil, err
		}
		factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, spec.Namespace, nil)
		return factory.ForResource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Informer(), nil
	}
	client, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		return nil, err
	}
	options := []informers.SharedInformerOption{informers.WithNamespace(spec.Namespace)}
	if spec.Node != "" {
		options = append(options, informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.FieldSelector = "spec.nodeName=" + spec.Node }))
	}
	return informers.NewSharedInformerFactoryWithOptions(client, 0, options...).Core().V1().Pods().Informer(), nil
}

// strip reduces a whole Pod to six fields.
func strip(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil // a tombstone; its Pod was reduced before
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion},
		Spec:       corev1.PodSpec{NodeName: pod.Spec.NodeName},
		Status:     corev1.PodStatus{Phase: pod.Status.Phase},
	}, nil
}

// running is a started informer.
type running struct{ cache.SharedIndexInformer }

func (r running) Keys() []string      { return r.GetStore().ListKeys() }
func (r running) Version() string     { return r.LastSyncResourceVersion() }
func (r running) Has(key string) bool { _, ok, _ := r.GetStore().GetByKey(key); return ok }
func (r running) List() int           { return len(r.GetStore().List()) }
func (r running) ByNode(node string) int {
	pods, _ := r.GetIndexer().ByIndex("node", node)
	return len(pods)
}
