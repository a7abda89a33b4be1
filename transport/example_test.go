package transport_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/relist-go/relist/listwatch/json"
	"github.com/relist-go/relist/transport"
	"github.com/relist-go/relist/transport/frames"
)

// A watch is read frame by frame until the server ends it.
func ExampleClient_Watch() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintln(w, `{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"web-0"}}}`)
		_, _ = fmt.Fprintln(w, `{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"42"}}}`)
	}))
	defer server.Close()

	client, err := transport.NewClient(transport.Config{Server: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	stream, err := client.Watch(context.Background(), transport.Request{
		Frames: []frames.Format{json.Format{}},
		Path:   transport.EscapePath("api", "v1", "namespaces", "default", "pods"),
		Query:  url.Values{"watch": {"1"}, "resourceVersion": {"41"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stream.Close()
	for {
		frame, err := stream.Next()
		if errors.Is(err, io.EOF) {
			fmt.Println("the server ended the watch")
			return
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s\n", frame.Data)
	}
	// Output:
	// {"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"web-0"}}}
	// {"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"42"}}}
	// the server ended the watch
}

// Whatever answers with an error, a server or a proxy, apierrors can tell it.
func ExampleClient_Get_error() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "slow down", http.StatusTooManyRequests)
	}))
	defer server.Close()

	client, err := transport.NewClient(transport.Config{Server: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	_, err = client.Get(context.Background(), transport.Request{Path: "/api/v1/pods"})
	seconds, _ := apierrors.SuggestsClientDelay(err)
	fmt.Println(apierrors.IsTooManyRequests(err), seconds)
	// Output: true 5
}

// An http.Client with the credentials and connections of a Client, for what this module has no
// function for: here, the log of a Pod.
func ExampleClient_RoundTripper() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "%s of %s", r.URL.Path, r.Header.Get("Authorization"))
	}))
	defer server.Close()

	client, err := transport.NewClient(transport.Config{Server: server.URL, BearerToken: "my-token"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	web := &http.Client{Transport: client.RoundTripper()}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "/api/v1/namespaces/shop/pods/web-0/log", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := web.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	fmt.Println(string(text), err)
	// Output: /api/v1/namespaces/shop/pods/web-0/log of Bearer my-token <nil>
}
