// Prometheus-sd tells Prometheus what to scrape: the Pods and Services that have the annotation
// prometheus.io/scrape: "true". Prometheus asks for the list over HTTP, and gets it from memory.
//
//	kubectl proxy &
//	go run ./examples/prometheus-sd http://127.0.0.1:8001
//
// The configuration of Prometheus for it:
//
//	scrape_configs:
//	- job_name: annotated
//	  http_sd_configs: [{url: "http://127.0.0.1:9099/targets", refresh_interval: 10s}]
//
// https://prometheus.io/docs/prometheus/latest/http_sd/
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

// Pod has the fields of a Pod that this program uses; the decoder skips the others.
type Pod struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Containers []struct {
			Ports []struct {
				ContainerPort int `json:"containerPort"`
			} `json:"ports"`
		} `json:"containers"`
	} `json:"spec"`
	Status struct {
		PodIP string `json:"podIP"`
		Phase string `json:"phase"`
	} `json:"status"`
}

// Service has the fields of a Service that this program uses.
type Service struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Ports []struct {
			Port int `json:"port"`
		} `json:"ports"`
	} `json:"spec"`
}

// Group is what Prometheus wants: addresses, and labels that they have in common.
type Group struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// Discovery serves the list.
type Discovery struct {
	pods     *informer.Informer[*Pod]
	services *informer.Informer[*Service]
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[len(os.Args)-1])
	stop()
	if !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

func run(ctx context.Context, server string) error {
	client, err := transport.NewClient(transport.Config{Server: server})
	if err != nil {
		return err
	}
	d, err := NewDiscovery(client)
	if err != nil {
		return err
	}
	inner, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	srv := &http.Server{Addr: "127.0.0.1:9099", Handler: d, ReadHeaderTimeout: 10 * time.Second}
	go func() { fail(srv.ListenAndServe()) }()
	err = d.Run(inner)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = srv.Shutdown(grace) // answers that are under way are finished
	return cmp.Or(ctx.Err(), err)
}

// NewDiscovery returns a Discovery that has not started.
func NewDiscovery(client *transport.Client) (*Discovery, error) {
	podList, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, listwatch.Options[*Pod]{})
	serviceList, err2 := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "services"}, listwatch.Options[*Service]{})
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	return &Discovery{informer.New(podList, informer.Options[*Pod]{}), informer.New(serviceList, informer.Options[*Service]{})}, nil
}

// Run keeps both caches in step until ctx ends, and returns why it ended.
func (d *Discovery) Run(ctx context.Context) error {
	ctx, fail := context.WithCancelCause(ctx)
	var both sync.WaitGroup
	both.Go(func() { fail(d.pods.Run(ctx)) })
	both.Go(func() { fail(d.services.Run(ctx)) })
	both.Wait()
	return context.Cause(ctx)
}

// ServeHTTP answers with the list. Until the caches have synced, it answers with an error, and
// Prometheus goes on with the list that it had. If Prometheus got an empty list, it would stop
// scraping everything.
func (d *Discovery) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if !d.pods.HasSynced() || !d.services.HasSynced() {
		http.Error(w, "the first lists have not come", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(d.Groups()); err != nil {
		log.Printf("answer Prometheus: %v", err)
	}
}

// Groups returns a group for each Pod and Service that is to be scraped.
func (d *Discovery) Groups() []Group {
	groups := []Group{} // null would be no list
	for _, pod := range d.pods.Store().All() {
		if pod.Status.PodIP == "" || pod.Status.Phase != "Running" {
			continue
		}
		var ports []int
		for _, c := range pod.Spec.Containers {
			for _, p := range c.Ports {
				ports = append(ports, p.ContainerPort)
			}
		}
		groups = appendGroup(groups, pod, "pod", pod.Status.PodIP, ports)
	}
	for _, service := range d.services.Store().All() {
		var ports []int
		for _, p := range service.Spec.Ports {
			ports = append(ports, p.Port)
		}
		groups = appendGroup(groups, service, "service", service.Name+"."+service.Namespace+".svc", ports)
	}
	return groups
}

// annotated is an object that has annotations.
type annotated interface {
	object.Object
	GetAnnotations() map[string]string
}

// appendGroup appends the group of an object, if its annotations ask for that. The port is the one
// in the annotation; without one, all ports that the object declares are used.
func appendGroup(groups []Group, obj annotated, kind, host string, ports []int) []Group {
	annotations := obj.GetAnnotations()
	if annotations["prometheus.io/scrape"] != "true" {
		return groups
	}
	if port, err := strconv.Atoi(annotations["prometheus.io/port"]); err == nil {
		ports = []int{port}
	}
	group := Group{Labels: map[string]string{
		"namespace":        obj.GetNamespace(),
		kind:               obj.GetName(),
		"__scheme__":       cmp.Or(annotations["prometheus.io/scheme"], "http"),
		"__metrics_path__": cmp.Or(annotations["prometheus.io/path"], "/metrics"),
	}}
	for _, port := range ports {
		group.Targets = append(group.Targets, net.JoinHostPort(host, strconv.Itoa(port)))
	}
	if group.Targets == nil {
		return groups
	}
	return append(groups, group)
}
