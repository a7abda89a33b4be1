package relistprom_test

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/relist-go/relist/controller"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	relistprom "github.com/relist-go/relist/prometheus"
)

func Example() {
	_ = run
}

func run(ctx context.Context, shopList *listwatch.Client[*ConfigMap], reconcile controller.Reconcile) error {
	metrics := relistprom.New(prometheus.DefaultRegisterer, relistprom.Options{})
	http.Handle("/metrics", promhttp.Handler())

	shops := relistprom.NewInformer(metrics, "shops", shopList, informer.Options[*ConfigMap]{})
	return controller.Run(ctx, reconcile, metrics.Controller("shops", controller.Options{}), controller.For(shops))
}
