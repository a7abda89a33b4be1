package clientgo

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// bookmarkPeriod is short, so that watches resume from bookmarks and not only from events.
const bookmarkPeriod = 200 * time.Millisecond

// TestInformers has client-go's informers follow 2,000 objects while they are
// written and the server misbehaves: in the end each store equals the server's state.
func TestInformers(t *testing.T) {
	for _, s := range []struct {
		name  string
		start func(*testing.T) server
	}{{"apitest", apitestServer}, {"kube-apiserver", realServer}} {
		for _, watchList := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/WatchListClient=%t", s.name, watchList), func(t *testing.T) {
				featurestesting.SetFeatureDuringTest(t, features.WatchListClient, watchList)
				testInformers(t, s.start(t))
			})
		}
	}
}

func testInformers(t *testing.T, s server) {
	observed := &requests{counts: map[string]int{}}
	config := rest.CopyConfig(s.config)
	config.Wrap(observed.wrap)
	w := newWorld(newClient(t, s.config), observed) // the writers' requests are not counted
	w.fill(t)

	mirrors := startInformers(t, config)
	for _, f := range s.faults {
		w.churn(t, func() { f.do(t, w) })
		for _, m := range mirrors {
			m.equals(t, w, f.name)
		}
		if t.Failed() {
			break
		}
	}
	t.Logf("%d writes; requests: %v", w.writes.Load(), observed)
}

// A mirror is an informer, and what its store should hold.
type mirror struct {
	name    string
	store   cache.Store
	changed *signal
	want    func(*corev1.ConfigMap) bool
}

// startInformers starts three kinds of informer and waits until they have synced.
// They end with the test.
func startInformers(t *testing.T, config *rest.Config) []*mirror {
	client := newClient(t, config)
	metadataClient, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	configMaps := metadataClient.Resource(corev1.SchemeGroupVersion.WithResource("configmaps"))
	metadataLW := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return configMaps.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return configMaps.Watch(ctx, options)
		},
	}
	odd := func(options *metav1.ListOptions) { options.LabelSelector = "parity=odd" }

	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	t.Cleanup(func() { cancel(); wg.Wait() })
	start := func(name string, lw *cache.ListWatch, client any, example runtime.Object, want func(*corev1.ConfigMap) bool) *mirror {
		m := &mirror{name: name, changed: new(signal), want: want}
		informer := cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(lw, client), example, 0, cache.Indexers{})
		m.store = informer.GetStore()
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { m.changed.notify() },
			UpdateFunc: func(any, any) { m.changed.notify() },
			DeleteFunc: func(any) { m.changed.notify() },
		})
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() { informer.RunWithContext(ctx) })
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			t.Fatalf("%s: not synced", name)
		}
		return m
	}
	all := func(*corev1.ConfigMap) bool { return true }
	return []*mirror{
		start("objects", cache.NewFilteredListWatchFromClient(client, "configmaps", "", func(*metav1.ListOptions) {}), client, &corev1.ConfigMap{}, all),
		start("metadata", metadataLW, metadataClient, &metav1.PartialObjectMetadata{}, all),
		start("a label selector", cache.NewFilteredListWatchFromClient(client, "configmaps", "", odd), client, &corev1.ConfigMap{},
			func(cm *corev1.ConfigMap) bool { return cm.Labels["parity"] == "odd" }),
	}
}

// equals waits until the mirror's store holds what the server has.
func (m *mirror) equals(t *testing.T, w *world, after string) {
	t.Helper()
	var list corev1.ConfigMapList
	if err := w.client.Get().Resource("configmaps").Do(t.Context()).Into(&list); err != nil {
		t.Fatalf("after %s: %v", after, err)
	}
	want := map[string]string{}
	for i := range list.Items {
		if cm := &list.Items[i]; m.want(cm) {
			want[cm.Namespace+"/"+cm.Name] = version(cm)
		}
	}
	var got map[string]string
	if !m.changed.await(t, func() bool {
		got = map[string]string{}
		for _, obj := range m.store.List() {
			o, err := meta.Accessor(obj)
			if err != nil {
				t.Errorf("%s: %v", m.name, err)
				return true
			}
			got[o.GetNamespace()+"/"+o.GetName()] = version(o)
		}
		return cmp.Equal(want, got)
	}) {
		t.Errorf("after %s: the informer of %s differs from the server (-server +informer):\n%s\nrequests: %v",
			after, m.name, cmp.Diff(want, got), w.requests)
	}
}

func version(o metav1.Object) string {
	return fmt.Sprintf("uid %s resourceVersion %s labels %v", o.GetUID(), o.GetResourceVersion(), o.GetLabels())
}

// newClient returns a client of the core group alone.
func newClient(t *testing.T, config *rest.Config) *rest.RESTClient {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	config = rest.CopyConfig(config)
	config.APIPath = "/api"
	config.GroupVersion = &corev1.SchemeGroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.QPS = -1
	client, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}
