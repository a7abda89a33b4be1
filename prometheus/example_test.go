package relistprom_test

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/relist-go/relist"
	"github.com/relist-go/relist/controller"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	relistprom "github.com/relist-go/relist/prometheus"
	"github.com/relist-go/relist/server/relay"
	"github.com/relist-go/relist/transport"
)

func Example() {
	_ = run
}

// The cache of relist.New.
func ExampleMetrics_Informer() {
	_ = func(client *transport.Client, shopType object.Type, opts relist.Options[*ConfigMap], metrics *relistprom.Metrics) error {
		opts.Informer.Reflector.Trace = metrics.Trace("shops")
		shops, err := relist.New(client, shopType, opts)
		if err != nil {
			return err
		}
		metrics.Informer("shops", shops)
		return nil
	}
}

// A relay that serves its own metrics.
func ExampleMetrics_Relay() {
	_ = func(client *transport.Client, opts relay.Options) (*relay.Relay, error) {
		metrics := relistprom.New(prometheus.DefaultRegisterer)
		opts.Trace = metrics.RelayTrace
		r, err := relay.New(client, opts)
		if err == nil {
			metrics.Relay(r)
		}
		return r, err
	}
}

func run(ctx context.Context, shopList *listwatch.Client[*ConfigMap], reconcile controller.Reconcile) error {
	metrics := relistprom.New(prometheus.DefaultRegisterer)
	http.Handle("/metrics", promhttp.Handler())

	shops := relistprom.NewInformer(metrics, "shops", shopList, informer.Options[*ConfigMap]{})
	return controller.Run(ctx, reconcile, metrics.Controller("shops", controller.Options{}), controller.For(shops))
}
