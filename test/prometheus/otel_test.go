package check

import (
	"testing"

	prombridge "go.opentelemetry.io/contrib/bridges/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/relist-go/relist/internal/must"
)

func bridged(registry *prometheus.Registry) sdkmetric.Reader {
	producer := prombridge.NewMetricProducer(prombridge.WithGatherer(registry))
	return sdkmetric.NewManualReader(sdkmetric.WithProducer(producer)) // or NewPeriodicReader(exporter, ...)
}

// OpenTelemetry's own bridge brings every metric: a second module for it would do no more.
func TestOpenTelemetry(t *testing.T) {
	metrics := registry()
	reader := bridged(metrics)
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	defer func() {
		if err := provider.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	var got metricdata.ResourceMetrics
	must.OK(t, reader.Collect(t.Context(), &got))
	have := map[string]bool{}
	for _, scope := range got.ScopeMetrics {
		for _, m := range scope.Metrics {
			have[m.Name] = true
		}
	}
	want := familiesOf(t, metrics)
	for name := range want {
		if !have[name] {
			t.Errorf("%s does not reach OpenTelemetry", name)
		}
	}
	if len(have) != len(want) {
		t.Errorf("%d metrics reach OpenTelemetry, want %d", len(have), len(want))
	}
}
