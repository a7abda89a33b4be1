package discovery_test

import (
	"context"
	"fmt"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/transport"
	"github.com/relist-go/relist/transport/discovery"
)

// Find the resource that a user has named.
func ExampleResolve() {
	server := apitest.New(apitest.Options{})
	defer server.Close()
	listener, err := server.Listen("127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	client, err := transport.NewClient(transport.Config{Server: listener.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	for _, name := range []string{"deploy", "podz"} {
		r, err := discovery.Resolve(context.Background(), client, name)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(r.GroupResource(), r.Version, r.Kind, r.Namespaced, r.Can("watch"))
	}
	// Output:
	// deployments.apps v1 Deployment true true
	// the server has no resource "podz"; did you mean pods?
}
