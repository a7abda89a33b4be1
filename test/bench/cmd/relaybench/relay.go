package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/server/relay"
	"github.com/relist-go/relist/test/bench/cases"
	"github.com/relist-go/relist/test/bench/measure"
	"github.com/relist-go/relist/transport"
	"github.com/relist-go/relist/transport/discovery"
)

// usage is what the relay's process has taken so far.
type usage struct {
	CPU            float64 // seconds
	Resident, Heap float64 // bytes; Heap is what is left after a garbage collection
	Goroutines     int
}

// serveRelay is the process of the relay. Everyone may read, so nothing is said of what it takes to
// ask who a reader is.
func serveRelay(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("relay", flag.ContinueOnError)
	server := flags.String("server", "", "`URL` of the server")
	if err := flags.Parse(args); err != nil {
		return err
	}
	client, err := transport.NewClient(transport.Config{Server: *server, TLS: transport.TLSConfig{Insecure: true}})
	if err != nil {
		return err
	}
	defer client.Close()
	pods := discovery.Resource{
		GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Kind: "Pod", Namespaced: true,
		Verbs: []string{"get", "list", "watch"},
	}
	r, err := relay.New(client, relay.Options{
		Resources:    []discovery.Resource{pods},
		Authenticate: func(*http.Request) (*relay.User, error) { return &relay.User{Name: "reader"}, nil },
		Authorize:    relay.AllowAll,
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = r.Run(ctx) // it is the end of ctx
	}()
	front := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path != "/bench/usage" {
			r.ServeHTTP(w, req)
			return
		}
		u := usage{
			CPU: measure.ProcessCPU().Seconds(), Resident: float64(measure.Resident()),
			Goroutines: runtime.NumGoroutine(),
		}
		u.Heap = float64(measure.HeapInUse())
		_ = json.NewEncoder(w).Encode(u) // an error is a client that hung up
	}))
	front.EnableHTTP2 = true
	front.StartTLS()
	if err := cases.Poll(ctx, "Pods", func() bool { return r.Status().Resources[0].Objects > 0 }); err != nil {
		cancel()
		return err
	}
	fmt.Println(front.URL)
	_, _ = io.Copy(io.Discard, os.Stdin)
	cancel()
	<-ended
	front.CloseClientConnections()
	return nil
}
