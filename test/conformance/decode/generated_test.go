package decode

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/listwatch/lazy"
)

// TestGeneratedLazyPods: Get of a lazy Pod is what the full decoder makes of the same bytes, and so
// are its fields, whatever a Pod has. LAZY_PODS is how many Pods there are, if it is set.
func TestGeneratedLazyPods(t *testing.T) {
	type lazyPod = lazy.Object[*corev1.Pod]
	pods, err := strconv.Atoi(os.Getenv("LAZY_PODS"))
	if err != nil {
		pods = 2000
	}
	status, spec := lazy.At[corev1.PodStatus]("status"), lazy.At[corev1.PodSpec]("spec")
	dns, ip := lazy.At[*corev1.PodDNSConfig]("spec.dnsConfig"), lazy.At[string]("status.podIP")
	for name, encoding := range map[string]listwatch.Encoding{"JSON": listwatch.JSON, "protobuf": listwatch.Protobuf} {
		made, err := lazy.New[*corev1.Pod](lazy.Options{Encoding: encoding, Fields: []lazy.Named{status, dns}})
		if err != nil {
			t.Fatal(err)
		}
		unmarshal, err := made.Unmarshaler(reflect.TypeFor[*lazyPod](), format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		whole, err := encoding.Unmarshaler(reflect.TypeFor[*corev1.Pod](), format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		compared := 0
		for seed := range uint64(pods) {
			pod := &corev1.Pod{}
			fill(rand.New(rand.NewPCG(seed, 3)), reflect.ValueOf(pod).Elem(), 0)
			pod.Kind, pod.APIVersion = "", ""
			data, err := pod.Marshal()
			if name == "JSON" {
				data, err = json.Marshal(pod)
			}
			var want *corev1.Pod
			if err != nil || whole(data, &want) != nil {
				continue // a port that is neither a number nor a string, and other values that JSON does not have
			}
			compared++
			var got *lazyPod
			if err := unmarshal(data, &got); err != nil {
				t.Fatalf("%s, seed %d: %v", name, seed, err)
			}
			have, err := got.Get()
			if err != nil || !reflect.DeepEqual(want, have) {
				t.Fatalf("%s, seed %d: %v (-whole +lazy)\n%s", name, seed, err, cmp.Diff(want, have))
			}
			for i, pair := range [][2]any{
				{want.Status, status.Of(got)},
				{want.Spec, spec.Of(got)},
				{want.Spec.DNSConfig, dns.Of(got)},
				{want.Status.PodIP, ip.Of(got)},
				{want.Labels, got.GetLabels()},
				{want.OwnerReferences, got.GetOwnerReferences()},
				{want.UID, got.GetUID()},
			} {
				if !reflect.DeepEqual(pair[0], pair[1]) {
					t.Fatalf("%s, seed %d, part %d: (-whole +lazy)\n%s", name, seed, i, cmp.Diff(pair[0], pair[1]))
				}
			}
		}
		if t.Logf("%s: %d of %d Pods compared", name, compared, pods); compared < pods/10 {
			t.Errorf("%s: %d of %d Pods compared", name, compared, pods)
		}
	}
}
