package decode

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/internal/podlist"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/listwatch/lazy"
	"github.com/relist-go/relist/listwatch/lazy/zstd"
)

type lazyPod = lazy.Object[*corev1.Pod]

// The fields of lazy Pods: of every kind that a path can end at.
var (
	nodeName    = lazy.At[string]("spec.nodeName")
	phase       = lazy.At[corev1.PodPhase]("status.phase")
	containers  = lazy.At[[]corev1.Container]("spec.containers")
	annotations = lazy.At[map[string]string]("metadata.annotations")
	labels      = lazy.At[map[string]string]("metadata.labels")
	created     = lazy.At[metav1.Time]("metadata.creationTimestamp")
	started     = lazy.At[*metav1.Time]("status.startTime")
	priority    = lazy.At[*int32]("spec.priority")
	runAs       = lazy.At[*int64]("spec.securityContext.runAsUser")
	affinity    = lazy.At[*corev1.NodeAffinity]("spec.affinity.nodeAffinity")
)

// readers are the functions that make a lazy Pod of its bytes and a Pod, in one encoding.
type readers struct {
	lazily func(object []byte, into any) error
	whole  func(object []byte, into any) error
}

func readersOf(tb testing.TB, encoding listwatch.Encoding, drop ...[]string) readers {
	tb.Helper()
	made, err := lazy.New[*corev1.Pod](lazy.Options{Encoding: encoding, Fields: []lazy.Named{nodeName, phase, containers, annotations, affinity}})
	must.OK(tb, err)
	lazily, err := made.Unmarshaler(reflect.TypeFor[*lazyPod](), format.Options{Drop: drop})
	must.OK(tb, err)
	whole, err := encoding.Unmarshaler(reflect.TypeFor[*corev1.Pod](), format.Options{Drop: drop})
	must.OK(tb, err)
	return readers{lazily, whole}
}

// inBoth returns Pods in JSON, with and without a kind, or in protobuf.
func inBoth(tb testing.TB, encoding listwatch.Encoding) (objects [][]byte) {
	for _, item := range podlist.Items(tb) {
		if encoding == listwatch.JSON {
			objects = append(objects, item, append([]byte(`{"kind":"Pod", "apiVersion":"v1" , `), item[1:]...))
			continue
		}
		pod, err := unmarshaler[*corev1.Pod](tb)(item)
		must.OK(tb, err)
		message, err := pod.Marshal()
		must.OK(tb, err)
		objects = append(objects, message)
	}
	return objects
}

// check compares a lazy Pod with the Pod that the full decoder makes of the same bytes.
func check(t *testing.T, read readers, object []byte) {
	t.Helper()
	var (
		got  *lazyPod
		want *corev1.Pod
	)
	err, wantErr := read.lazily(object, &got), read.whole(object, &want)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("lazy: %v; whole: %v\n%q", err, wantErr, object)
	}
	if err != nil {
		return
	}
	object = nil // it may be used again
	pod, err := got.Get()
	must.OK(t, err)
	want.TypeMeta, pod.TypeMeta = metav1.TypeMeta{}, metav1.TypeMeta{} // as in package listwatch
	if !reflect.DeepEqual(want, pod) {
		t.Fatalf("Get: (-whole +lazy)\n%s", cmp.Diff(want, pod))
	}
	again := &lazyPod{}
	must.OK(t, again.Unmarshal(got.Bytes()))
	for i, obj := range []*lazyPod{got, again} { // its fields are named, or they are not
		values := []any{
			obj.GetName(), obj.GetNamespace(), obj.GetUID(), obj.GetResourceVersion(), obj.GetLabels(), obj.GetOwnerReferences(), obj.GetDeletionTimestamp(),
			nodeName.Of(obj), phase.Of(obj), containers.Of(obj), annotations.Of(obj), labels.Of(obj), created.Of(obj), started.Of(obj), priority.Of(obj),
			runAs.Of(obj), affinity.Of(obj),
		}
		wanted := []any{
			want.Name, want.Namespace, want.UID, want.ResourceVersion, want.Labels, want.OwnerReferences, want.DeletionTimestamp,
			want.Spec.NodeName, want.Status.Phase, want.Spec.Containers, want.Annotations, want.Labels, want.CreationTimestamp, want.Status.StartTime,
			want.Spec.Priority, runAsOf(want), affinityOf(want),
		}
		for n := range values {
			if !reflect.DeepEqual(wanted[n], values[n]) {
				t.Fatalf("value %d, %d: (-whole +lazy)\n%s", n, i, cmp.Diff(wanted[n], values[n]))
			}
		}
	}
}

func runAsOf(pod *corev1.Pod) *int64 {
	if pod.Spec.SecurityContext == nil {
		return nil
	}
	return pod.Spec.SecurityContext.RunAsUser
}

func affinityOf(pod *corev1.Pod) *corev1.NodeAffinity {
	if pod.Spec.Affinity == nil {
		return nil
	}
	return pod.Spec.Affinity.NodeAffinity
}

// A lazy Pod is the Pod that the full decoder makes of the same bytes, and so is each part of it.
func TestLazyPods(t *testing.T) {
	for name, encoding := range map[string]listwatch.Encoding{"JSON": listwatch.JSON, "protobuf": listwatch.Protobuf} {
		t.Run(name, func(t *testing.T) {
			for _, drop := range [][][]string{nil, {{"metadata", "managedFields"}, {"spec", "containers", "env"}}} {
				read := readersOf(t, encoding, drop...)
				for _, object := range inBoth(t, encoding) {
					check(t, read, object)
				}
			}
		})
	}
}

// A member of an embedded struct stands beside the others in JSON, and is in a message of its own
// in protobuf.
func TestLazyMemberOfAnEmbeddedStruct(t *testing.T) {
	driver := lazy.At[*corev1.CSIPersistentVolumeSource]("spec.csi")
	volume := &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{
		CSI: &corev1.CSIPersistentVolumeSource{Driver: "d"},
	}}}
	volume.Name = "v"
	text, err := json.Marshal(volume)
	must.OK(t, err)
	message, err := volume.Marshal()
	must.OK(t, err)
	for encoding, object := range map[listwatch.Encoding][]byte{listwatch.JSON: text, listwatch.Protobuf: message} {
		made, err := lazy.New[*corev1.PersistentVolume](lazy.Options{Encoding: encoding, Fields: []lazy.Named{driver}})
		must.OK(t, err)
		read, err := made.Unmarshaler(reflect.TypeFor[*lazy.Object[*corev1.PersistentVolume]](), format.Options{})
		must.OK(t, err)
		var obj *lazy.Object[*corev1.PersistentVolume]
		if err := read(object, &obj); err != nil || obj.GetName() != "v" || driver.Of(obj) == nil || driver.Of(obj).Driver != "d" {
			t.Errorf("%s: %v of %v, %v", encoding.MediaType(), driver.Of(obj), obj, err)
		}
	}
}

// The same of Pods that were damaged: both are an error, or both are the same Pod.
func TestMutatedLazyPods(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	read, objects := readersOf(t, listwatch.JSON), inBoth(t, listwatch.JSON)
	for range 20_000 {
		object := mutate(bytes.Clone(objects[rnd.IntN(len(objects))]), rnd)
		check(t, read, object)
	}
}

// The same in protobuf, except that a few messages are refused if the Pod is lazy, such as one with
// a group. No server writes those.
func TestMutatedLazyPodsInProtobuf(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	read, objects := readersOf(t, listwatch.Protobuf), inBoth(t, listwatch.Protobuf)
	refused := 0
	for range 20_000 {
		object := bytes.Clone(objects[rnd.IntN(len(objects))])
		for range 1 + rnd.IntN(3) {
			object[rnd.IntN(len(object))] = byte(rnd.Uint32())
		}
		var pod *lazyPod
		if read.lazily(object, &pod) != nil && read.whole(object, new(*corev1.Pod)) == nil {
			refused++
			continue
		}
		check(t, read, object)
	}
	if refused > 100 {
		t.Errorf("%d messages are refused that the full decoder takes", refused)
	}
	t.Logf("%d messages are refused that the full decoder takes", refused)
}

// BenchmarkLazyPods is what it takes to make a lazy Pod of its bytes, and to read it.
func BenchmarkLazyPods(b *testing.B) {
	for name, opts := range map[string]lazy.Options{
		"JSON": {Encoding: listwatch.JSON}, "JSON, packed": {Encoding: listwatch.JSON, Packer: zstd.New()}, "protobuf": {Encoding: listwatch.Protobuf},
	} {
		opts.Fields, opts.Unchecked = []lazy.Named{nodeName, phase}, true
		made, err := lazy.New[*corev1.Pod](opts)
		must.OK(b, err)
		read, err := made.Unmarshaler(reflect.TypeFor[*lazyPod](), format.Options{Drop: [][]string{{"metadata", "managedFields"}}})
		must.OK(b, err)
		var pods []*lazyPod
		for _, object := range inBoth(b, opts.Encoding) {
			var pod *lazyPod
			must.OK(b, read(object, &pod))
			pods = append(pods, pod)
		}
		whole, err := pods[0].Get()
		must.OK(b, err)
		checked := opts
		checked.Unchecked = false
		for what, opts := range map[string]lazy.Options{"receive": opts, "receive and check": checked} {
			made, err := lazy.New[*corev1.Pod](opts)
			must.OK(b, err)
			read, err := made.Unmarshaler(reflect.TypeFor[*lazyPod](), format.Options{})
			must.OK(b, err)
			b.Run(name+"/"+what, func(b *testing.B) {
				b.ReportAllocs()
				var pod *lazyPod
				for i := range b.N {
					must.OK(b, read(pods[i%len(pods)].Bytes(), &pod))
				}
			})
		}
		for what, run := range map[string]func(pod *lazyPod){
			"Get":      func(pod *lazyPod) { _, _ = pod.Get() },
			"Field":    func(pod *lazyPod) { _ = nodeName.Of(pod) },
			"Path":     func(pod *lazyPod) { _, _ = lazy.Path[*metav1.Time](pod, "status.startTime") },
			"DeepCopy": func(*lazyPod) { _ = whole.DeepCopy() },
		} {
			b.Run(name+"/"+what, func(b *testing.B) {
				b.ReportAllocs()
				for i := range b.N {
					run(pods[i%len(pods)])
				}
			})
		}
	}
}
