// Prometheus-sd tells Prometheus what to scrape: the Pods that have the annotation
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
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
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

// Group is what Prometheus wants: addresses, and labels that they have in common.
type Group struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// Discovery serves the list.
type Discovery struct{ *informer.Informer[*Pod] }

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
	pods, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, listwatch.Options[*Pod]{})
	if err != nil {
		return nil, err
	}
	return &Discovery{informer.New(pods, informer.Options[*Pod]{})}, nil
}

// ServeHTTP answers with the list. Until the cache has synced, it answers with an error, and
// Prometheus goes on with the list that it had. If Prometheus got an empty list, it would stop
// scraping everything.
func (d *Discovery) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if !d.HasSynced() {
		http.Error(w, "the first list has not come", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(d.Groups()); err != nil {
		log.Printf("answer Prometheus: %v", err)
	}
}

// Groups returns a group for each Pod that is to be scraped. The port is the number in the
// annotation; without one, all ports that the Pod declares are used.
func (d *Discovery) Groups() []Group {
	groups := []Group{} // null would be no list
	for _, pod := range d.Store().All() {
		annotations := pod.Annotations
		if annotations["prometheus.io/scrape"] != "true" || pod.Status.PodIP == "" || pod.Status.Phase != "Running" {
			continue
		}
		group := Group{Labels: map[string]string{
			"namespace":        pod.Namespace,
			"pod":              pod.Name,
			"__scheme__":       cmp.Or(annotations["prometheus.io/scheme"], "http"),
			"__metrics_path__": cmp.Or(annotations["prometheus.io/path"], "/metrics"),
		}}
		if port, err := strconv.Atoi(annotations["prometheus.io/port"]); err == nil {
			group.Targets = []string{net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(port))}
		} else {
			for _, c := range pod.Spec.Containers {
				for _, p := range c.Ports {
					group.Targets = append(group.Targets, net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(p.ContainerPort)))
				}
			}
		}
		if group.Targets != nil {
			groups = append(groups, group)
		}
	}
	return groups
}
