package traces

import (
	"net/http"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/relist-go/relist/trace"
)

// clientGo is the trace.Program of client-go: a Reflector that fills a
// DeltaFIFO, whose entries are popped into a Store. There is no jitter and no
// limit of rates. What relist has and client-go has not, it goes without.
func clientGo(env trace.Env) (trace.Client, error) {
	transport := &http.Transport{DialContext: env.Dial}
	if env.Options.Transport == "http2" {
		transport.Protocols = new(http.Protocols)
		transport.Protocols.SetUnencryptedHTTP2(true)
		transport.HTTP2 = &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second} // as client-go sets it
	}
	client, err := restClient(env.Server, transport)
	if err != nil {
		return nil, err
	}
	known := knownObjects{cache.NewStore(cache.DeletionHandlingMetaNamespaceKeyFunc)}
	quiet := logr.Discard()
	m := &mirror{
		transport: transport,
		known:     known,
		queue: cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{
			Logger:                &quiet,
			KnownObjects:          known,
			EmitDeltaTypeReplaced: true,
		}),
	}
	// A closed queue takes and gives as before, but its Pop does not wait.
	m.queue.Close()
	lw := listWatch{
		ListWatch: cache.NewListWatchFromClient(client, "configmaps", "default", fields.Everything()),
		watchList: env.Options.WatchList,
	}
	var sink cache.ReflectorStore = m.queue
	if env.Options.WatchList {
		sink = inOrder{m.queue}
	}
	m.reflector = cache.NewReflectorWithOptions(lw, &corev1.ConfigMap{}, sink, cache.ReflectorOptions{
		Logger:       &quiet,
		ResyncPeriod: env.Options.Resync,
		Backoff:      curve(),
	})
	m.reflector.WatchListPageSize = int64(env.Options.Limit)
	return m, nil
}

// restClient makes the client that a clientset has for the group of ConfigMaps,
// for JSON, on a transport of its own: nothing is shared between two runs.
func restClient(server string, transport http.RoundTripper) (*rest.RESTClient, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return rest.RESTClientFor(&rest.Config{
		Host:      server,
		APIPath:   "/api",
		Transport: transport,
		QPS:       -1, // no limit
		ContentConfig: rest.ContentConfig{
			GroupVersion:         &corev1.SchemeGroupVersion,
			NegotiatedSerializer: serializer.NewCodecFactory(scheme).WithoutConversion(),
			AcceptContentTypes:   runtime.ContentTypeJSON,
			ContentType:          runtime.ContentTypeJSON,
		},
	})
}

// curve is the backoff that a Reflector has by default, without its jitter.
func curve() *wait.Backoff {
	return &wait.Backoff{Duration: 800 * time.Millisecond, Factor: 2, Cap: 30 * time.Second, Steps: 38}
}

// listWatch says whether there are initial events by watch. A Reflector asks for
// them first unless it is told that there are none.
type listWatch struct {
	*cache.ListWatch
	watchList bool
}

func (l listWatch) IsWatchListSemanticsUnSupported() bool { return !l.watchList }
