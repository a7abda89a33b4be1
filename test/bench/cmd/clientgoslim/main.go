// Command clientgoslim does with client-go what examples/slim does with relist: it keeps
// six fields of every Pod, and prints what changes. Its size is compared with that of
// examples/slim.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "clientgoslim:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	flag.StringVar(&rules.ExplicitPath, "kubeconfig", "", "path of the kubeconfig `file` (default $KUBECONFIG, then ~/.kube/config)")
	server := flag.String("server", "", "`URL` of an API server that wants no credentials; no kubeconfig is read")
	namespace := flag.String("namespace", "", "`name` of the only namespace to mirror (default all)")
	flag.Parse()

	overrides := new(clientcmd.ConfigOverrides)
	overrides.ClusterInfo.Server = *server
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(*namespace))
	pods := factory.Core().V1().Pods().Informer()
	if err := pods.SetTransform(strip); err != nil {
		return err
	}
	if _, err := pods.AddEventHandler(printer()); err != nil {
		return err
	}
	pods.RunWithContext(ctx)
	return nil
}

// strip keeps six fields.
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

// printer writes a line for each change.
func printer() cache.ResourceEventHandlerFuncs {
	line := func(sign string, obj any) {
		if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = tombstone.Obj
		}
		if pod, ok := obj.(*corev1.Pod); ok {
			fmt.Printf("%s %s/%s %s on %s\n", sign, pod.Namespace, pod.Name, pod.Status.Phase, pod.Spec.NodeName)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { line("+", obj) },
		UpdateFunc: func(_, obj any) { line("~", obj) },
		DeleteFunc: func(obj any) { line("-", obj) },
	}
}
