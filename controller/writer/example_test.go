package writer_test

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/controller/writer"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

// ConfigMap has the fields of a ConfigMap that this program writes.
type ConfigMap struct {
	metav1.ObjectMeta `json:"metadata"`

	Data map[string]string `json:"data,omitempty"`
}

// Write prices by server-side apply, and then change one on condition that nobody else has changed
// any. Then write another object in each way.
func Example() {
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
	ctx := context.Background()
	configMaps := object.Type{Version: "v1", Resource: "configmaps", Kind: "ConfigMap"}
	prices, err := writer.New[*ConfigMap](client, configMaps, writer.Options{FieldManager: "shop"})
	if err != nil {
		fmt.Println(err)
		return
	}
	bakery := &ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "town", Name: "bakery"}, Data: map[string]string{"bread": "3", "cake": "9"}}
	written, err := prices.Apply(ctx, bakery)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(written.Data)
	for _, price := range []string{"4", "5"} { // the second depends on a state that is gone
		changed, err := prices.MergePatch(ctx, "town/bakery", map[string]any{
			"metadata": map[string]any{"resourceVersion": written.ResourceVersion},
			"data":     map[string]any{"bread": price},
		})
		if apierrors.IsConflict(err) {
			fmt.Println("conflict")
			continue
		}
		fmt.Println(changed.Data, err)
	}
	fmt.Println(writeEachWay(ctx, client))
	// Output:
	// map[bread:3 cake:9]
	// map[bread:4 cake:9] <nil>
	// conflict
	// map[price:6] true
	// <nil>
}

// writeEachWay writes one object by each method; docs/guides/writing.md shows it.
func writeEachWay(ctx context.Context, client *transport.Client) error {
	configMaps := object.Type{Version: "v1", Resource: "configmaps", Kind: "ConfigMap"}
	writes, err := writer.New[*ConfigMap](client, configMaps, writer.Options{FieldManager: "shop", Force: true})
	if err != nil {
		return err
	}
	meta := metav1.ObjectMeta{Namespace: "shop", Name: "tea"}
	tea, err := writes.Create(ctx, &ConfigMap{ObjectMeta: meta, Data: map[string]string{"price": "3"}})
	if err == nil {
		tea, err = writes.Modify(ctx, tea, func(c *ConfigMap) { c.Data["price"] = "4" })
	}
	if err == nil {
		tea, err = writes.MergePatch(ctx, "shop/tea", map[string]any{"data": map[string]any{"price": "5"}})
	}
	if err == nil {
		tea, err = writes.Apply(ctx, &ConfigMap{ObjectMeta: meta, Data: map[string]string{"price": "6"}})
	}
	_, incomplete := writes.Update(ctx, tea) // writer.ErrIncomplete: the type lacks fields of a ConfigMap
	if err == nil {
		err = writes.Delete(ctx, "shop/tea", writer.DeleteOptions{UID: tea.UID})
	}
	fmt.Println(tea.Data, errors.Is(incomplete, writer.ErrIncomplete))
	return err
}
