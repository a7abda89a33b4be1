package relist_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist"
	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/controller"
	"github.com/relist-go/relist/controller/writer"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/store"
	"github.com/relist-go/relist/transport"
)

// ConfigMap has the fields of a ConfigMap that these programs use.
type ConfigMap struct {
	metav1.ObjectMeta `json:"metadata"`

	Data map[string]string `json:"data,omitempty"`
}

var configMapType = object.Type{Version: "v1", Resource: "configmaps", Kind: "ConfigMap"}

// A controller and a group take Objects where they take an informer.
var (
	_ controller.Cache[*ConfigMap] = (*relist.Resource[*ConfigMap])(nil)
	_ informer.Member              = (*relist.Resource[*ConfigMap])(nil)
)

// Write prices, and read them from the cache.
func ExampleNew() {
	server := apitest.New(apitest.Options{})
	defer server.Close()
	listener, err := server.Listen("127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	client, err := transport.FromKubeconfig(transport.KubeconfigOptions{Server: listener.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	prices, err := relist.New(client, configMapType, relist.Options[*ConfigMap]{
		Writer: writer.Options{FieldManager: "shop"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- prices.Run(ctx) }()

	bakery := &ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "town", Name: "bakery"}, Data: map[string]string{"bread": "3"}}
	written, err := prices.Apply(ctx, bakery)
	if err == nil {
		err = prices.WaitForVersion(ctx, written.ResourceVersion)
	}
	has, _ := prices.Store().Get("town/bakery")
	fmt.Println(has.Data, err)
	stop()
	fmt.Println(<-ended)
	// Output:
	// map[bread:3] <nil>
	// context canceled
}

// Each part gets its options.
func TestOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, listener := apitest.StartInMemory(t, apitest.Options{})
		for _, namespace := range []string{"town", "village"} {
			if _, err := server.Create("configmaps", map[string]any{"metadata": map[string]any{"namespace": namespace, "name": "bakery"}}); err != nil {
				t.Fatal(err)
			}
		}
		client, err := transport.NewClient(transport.Config{Server: listener.URL, Dial: listener.Dial})
		must.OK(t, err)
		t.Cleanup(client.Close)
		names := func(c *ConfigMap) []string { return []string{c.Name} }
		configMaps, err := relist.New(client, configMapType, relist.Options[*ConfigMap]{
			ListWatch: listwatch.Options[*ConfigMap]{Namespace: "town"},
			Informer:  informer.Options[*ConfigMap]{Indexers: store.Indexers[*ConfigMap]{"name": names}},
			Writer:    writer.Options{FieldManager: "shop", DryRun: true},
		})
		must.OK(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- configMaps.Run(ctx) }()
		must.OK(t, configMaps.WaitForSync(ctx))
		if keys, err := configMaps.Store().IndexKeys("name", "bakery"); len(keys) != 1 || keys[0] != "town/bakery" || err != nil {
			t.Errorf("the cache has %v, %v, want that of the town alone", keys, err)
		}
		if _, err := configMaps.Apply(ctx, &ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "town", Name: "butcher"}}); err != nil {
			t.Error(err)
		}
		if _, _, err := configMaps.Client.Get(ctx, "town/butcher"); err == nil {
			t.Error("a dry run has made an object")
		}
		if got := configMaps.Client.String(); got != "configmaps in town" {
			t.Errorf("the resource is %s", got)
		}
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
	})
}

// No method of one part hides one of the other.
func TestMethodsOfObjects(t *testing.T) {
	writes := reflect.TypeFor[*writer.Writer[*ConfigMap]]()
	for method := range reflect.TypeFor[*informer.Informer[*ConfigMap]]().Methods() {
		if _, both := writes.MethodByName(method.Name); both {
			t.Errorf("an informer and a writer have a method %s", method.Name)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	client, err := transport.NewClient(transport.Config{Server: "http://127.0.0.1:1"})
	must.OK(t, err)
	t.Cleanup(client.Close)
	kindless := configMapType
	kindless.Kind = ""
	for want, open := range map[string]func() error{
		"listwatch: no transport client": func() error {
			_, err := relist.New(nil, configMapType, relist.Options[*ConfigMap]{})
			return err
		},
		"writer: the type of configmaps has no Kind": func() error {
			_, err := relist.New(client, kindless, relist.Options[*ConfigMap]{})
			return err
		},
		"metadata": func() error {
			type NoTag struct{ metav1.ObjectMeta }
			_, err := relist.New(client, configMapType, relist.Options[*NoTag]{})
			return err
		},
		"write the plural name": func() error {
			_, err := relist.New(client, object.Type{Version: "v1", Resource: "ConfigMap", Kind: "ConfigMap"}, relist.Options[*ConfigMap]{})
			return err
		},
	} {
		if err := open(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open returned %v, want %q in it", err, want)
		}
	}
}
