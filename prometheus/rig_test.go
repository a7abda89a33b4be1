package relistprom_test

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/controller/writer"
	"github.com/relist-go/relist/internal/memnet"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	relistprom "github.com/relist-go/relist/prometheus"
	"github.com/relist-go/relist/transport"
)

// ConfigMap is the object type of the tests.
type ConfigMap struct {
	metav1.ObjectMeta `json:"metadata"`
}

var errSpoiled = errors.New("spoiled")

// rig is an API server, and metrics that are scraped over HTTP, in a synctest bubble.
type rig struct {
	*testing.T
	server  *apitest.Server
	list    *listwatch.Client[*ConfigMap] // of ConfigMaps; those whose name begins with "bad" cannot be used
	writes  *writer.Writer[*ConfigMap]
	metrics *relistprom.Metrics
	scraper *http.Client

	seen map[string]float64 // the last scrape
}

func newRig(t *testing.T) *rig {
	t.Helper()
	server, listener := apitest.StartInMemory(t, apitest.Options{})
	r := &rig{T: t, server: server}
	client, err := transport.NewClient(transport.Config{Server: listener.URL, Dial: listener.Dial})
	must.OK(t, err)
	t.Cleanup(client.Close)
	r.list, err = listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, listwatch.Options[*ConfigMap]{
		Transform: func(c *ConfigMap) (*ConfigMap, error) {
			if strings.HasPrefix(c.Name, "bad") {
				return nil, errSpoiled
			}
			return c, nil
		},
	})
	must.OK(t, err)
	if r.writes, err = writer.New[*ConfigMap](client, object.Type{Version: "v1", Resource: "configmaps", Kind: "ConfigMap"}, writer.Options{}); err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewPedanticRegistry()
	r.metrics = relistprom.New(registry)
	transport := &http.Transport{DialContext: r.serve(promhttp.HandlerFor(registry, promhttp.HandlerOpts{})).Dial}
	t.Cleanup(transport.CloseIdleConnections)
	r.scraper = &http.Client{Transport: transport}
	return r
}

// serve serves h in memory until the test ends.
func (r *rig) serve(h http.Handler) *memnet.Network {
	network := memnet.New()
	srv := &http.Server{Handler: h}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = srv.Serve(network) // ends with ErrServerClosed
	}()
	r.Cleanup(func() {
		_ = srv.Close()
		<-ended
	})
	return network
}

// scrape returns the value of each series, as Prometheus' own parser reads them.
func (r *rig) scrape() map[string]float64 {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, "http://metrics.example/metrics", http.NoBody)
	if err != nil {
		r.Fatal(err)
	}
	resp, err := r.scraper.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		r.Fatalf("%s\n%s", resp.Status, text)
	}
	values := map[string]float64{}
	decoder := expfmt.NewDecoder(resp.Body, expfmt.ResponseFormat(resp.Header))
	for {
		var family dto.MetricFamily
		if err := decoder.Decode(&family); errors.Is(err, io.EOF) {
			return values
		} else if err != nil {
			r.Fatal(err)
		}
		samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{Timestamp: model.Now()}, &family)
		if err != nil {
			r.Fatal(err)
		}
		for _, s := range samples {
			values[s.Metric.String()] = float64(s.Value)
		}
	}
}

// series are the values of series, or by how much they have changed: relist_lists_total{name="a"}.
type series map[string]float64

// moves does something, and fails the test unless each series has changed by what it says since the
// last scrape.
func (r *rig) moves(cause string, do func(), by series) {
	r.Helper()
	if r.seen == nil {
		r.seen = r.scrape()
	}
	do()
	synctest.Wait()
	after := r.scrape()
	for name, want := range by {
		value, is := after[name]
		if got := value - r.seen[name]; got != want || !is || want == 0 {
			r.Errorf("%s: %s has changed by %v to %v, want by %v", cause, name, got, value, want)
		}
	}
	r.seen = after
}

// reads fails the test unless the series have these values.
func (r *rig) reads(want series) {
	r.Helper()
	synctest.Wait()
	got := r.scrape()
	for name, value := range want {
		if is, ok := got[name]; !ok || is != value {
			r.Errorf("%s is %v (%v), want %v", name, is, ok, value)
		}
	}
}

// families returns the names of the metrics that were scraped.
func families(values map[string]float64) map[string]bool {
	all := map[string]bool{}
	for name := range maps.Keys(values) {
		name, _, _ = strings.Cut(name, "{")
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			name = strings.TrimSuffix(name, suffix)
		}
		all[name] = true
	}
	return all
}

// pass lets time pass.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (r *rig) create(names ...string) {
	r.Helper()
	for _, name := range names {
		if _, err := r.server.Create("configmaps", map[string]any{"metadata": map[string]any{"namespace": "a", "name": name}}); err != nil {
			r.Fatal(err)
		}
	}
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}
