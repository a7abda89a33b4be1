package apitest_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"

	"github.com/relist-go/relist/apitest"
)

// A watch is cut in the middle of an event. The client asks again from the last version it has
// seen, but the server has been compacted meanwhile, so it has to list.
func Example() {
	server := apitest.New(apitest.Options{})
	listener, err := server.Listen("127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Close() }()

	configMap := func(name, value string) map[string]any {
		return map[string]any{
			"metadata": map[string]any{"namespace": "default", "name": name},
			"data":     map[string]any{"value": value},
		}
	}
	version, err := server.Create("configmaps", configMap("a", "1"))
	if err != nil {
		fmt.Println(err)
		return
	}
	watch := func() *http.Response {
		url := listener.URL + "/api/v1/configmaps?watch=true&resourceVersion=" + version
		req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
		if err != nil {
			panic(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			panic(err)
		}
		return resp
	}

	first := watch()
	server.CutWatches(30)
	if _, err := server.Update("configmaps", configMap("a", "2")); err != nil {
		fmt.Println(err)
		return
	}
	lines := bufio.NewScanner(first.Body)
	lines.Scan()
	fmt.Println(lines.Text(), "...", lines.Err())
	_ = first.Body.Close()

	server.Compact()
	second := watch()
	lines = bufio.NewScanner(second.Body)
	lines.Scan()
	fmt.Println(lines.Text())
	_ = second.Body.Close()
	// Output:
	// {"type":"MODIFIED","object":{" ... unexpected EOF
	// {"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: 2 (3)","reason":"Expired","code":410}}
}

func ExampleServer_List() {
	server := apitest.New(apitest.Options{})
	if _, err := server.Create("pods", map[string]any{"metadata": map[string]any{"namespace": "shop", "name": "web"}}); err != nil {
		fmt.Println(err)
		return
	}
	pods, version, err := server.List("pods", "shop") // "": of all namespaces
	fmt.Println(len(pods), version, err)
	// Output:
	// 1 2 <nil>
}
