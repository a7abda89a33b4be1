package decode

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch"
)

// With ShareParts, Pods that came as protobuf share their containers, and the Quantities in
// their maps. A Quantity outside a map writes its text into itself when it is printed. Two
// Pods do not share such a Quantity, because two goroutines may print it at the same time.
func TestQuantitiesAreNotShared(t *testing.T) {
	size, divisor := resource.MustParse("1536Mi"), resource.MustParse("1Mi")
	limits := corev1.ResourceList{corev1.ResourceMemory: size}
	pods := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	for i := range 4 {
		pods.Items = append(pods.Items, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("web-", i), Namespace: "default", ResourceVersion: "5"},
			Spec: corev1.PodSpec{
				InitContainers: []corev1.Container{{
					Name: "asks for its limit", Image: "registry.example/web:1",
					Env: []corev1.EnvVar{{Name: "LIMIT", ValueFrom: &corev1.EnvVarSource{
						ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.memory", Divisor: divisor},
					}}},
				}},
				Containers: []corev1.Container{{
					Name: "has a limit", Image: "registry.example/web:1",
					Resources: corev1.ResourceRequirements{Limits: limits},
				}},
				Volumes: []corev1.Volume{
					{Name: "cache-of-what-was-fetched", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &size}}},
				},
			},
		})
	}
	got := listWith(t, codecs[1], codecs[1].encode(t, pods), listwatch.Options[*corev1.Pod]{ShareParts: true}).Items
	a, b := got[2].Spec, got[3].Spec // what comes for the third time is shared
	if &a.Containers[0] != &b.Containers[0] {
		t.Error("containers are not shared, though nothing in them can be written to by reading it")
	}
	if a.Volumes[0].EmptyDir.SizeLimit == b.Volumes[0].EmptyDir.SizeLimit {
		t.Error("two Pods have one SizeLimit")
	}
	if a.InitContainers[0].Env[0].ValueFrom.ResourceFieldRef == b.InitContainers[0].Env[0].ValueFrom.ResourceFieldRef {
		t.Error("two Pods have one Divisor")
	}
}
