package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/internal/podlist"
)

// exchanged are objects with values of each kind that a message can have.
func exchanged(t *testing.T) []runtime.Object {
	t.Helper()
	at := metav1.Unix(1_700_000_000, 0)
	yes, seconds := true, int64(30)
	all := []runtime.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Data: map[string][]byte{"a": {0, 1, 255}, "b": {}}, Type: "Opaque", Immutable: &yes},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Data: map[string]string{"b": "2", "a": ""}, BinaryData: map[string][]byte{"x": {0, 255}}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "svc"}, Spec: corev1.ServiceSpec{
			Ports: []corev1.ServicePort{
				{Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString("http")}, {Port: 81, Protocol: corev1.ProtocolUDP, TargetPort: intstr.FromInt32(8081)},
			},
		}},
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d"}, Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				TerminationGracePeriodSeconds: &seconds,
				Containers: []corev1.Container{{
					Name: "c", Image: "i",
					Resources:     corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("1Gi")}},
					LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(80)}}},
					Env: []corev1.EnvVar{{Name: "e", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
						LocalObjectReference: corev1.LocalObjectReference{Name: "cm"}, Key: "k",
					}}}},
				}},
				Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
			}},
		}},
		&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "j"}, Spec: batchv1.JobSpec{Suspend: &yes}},
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}}},
		&corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e"}, FirstTimestamp: at, EventTime: metav1.NewMicroTime(at.Add(1500)), Count: 3},
		&eventsv1.Event{
			ObjectMeta: metav1.ObjectMeta{Name: "e2"}, EventTime: metav1.NewMicroTime(at.Add(1500)), DeprecatedFirstTimestamp: at, DeprecatedCount: 3, Note: "n", ReportingController: "c",
			Regarding: corev1.ObjectReference{Kind: "Pod", Name: "p"}, Series: &eventsv1.EventSeries{Count: 2, LastObservedTime: metav1.NewMicroTime(at.Add(2500))},
		},
	}
	return append(all, pods(t)...)
}

// pods are those of a cluster.
func pods(t *testing.T) (all []runtime.Object) {
	t.Helper()
	for i, item := range podlist.Items(t)[:50] {
		var pod corev1.Pod
		must.OK(t, json.Unmarshal(item, &pod))
		pod.ObjectMeta = metav1.ObjectMeta{Name: fmt.Sprintf("pod-%d", i), Labels: pod.Labels, Annotations: pod.Annotations}
		pod.Status = corev1.PodStatus{} // that is written elsewhere
		all = append(all, &pod)
	}
	return all
}

// TestProtobufOfEveryKind: what client-go sends as protobuf is stored, and comes back as it was, in
// protobuf and in JSON.
func TestProtobufOfEveryKind(t *testing.T) {
	ours := apitestSide(t).section("")
	codec := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	for _, obj := range exchanged(t) {
		kinds, _, err := scheme.Scheme.ObjectKinds(obj)
		must.OK(t, err)
		path := pathOf(kinds[0])
		obj.GetObjectKind().SetGroupVersionKind(kinds[0])
		var b bytes.Buffer
		must.OK(t, codec.Encode(obj, &b))
		made := ours.send(t, request{method: http.MethodPost, path: path, body: b.String(), header: []string{
			"Content-Type: " + runtime.ContentTypeProtobuf, "Accept: " + runtime.ContentTypeProtobuf,
		}})
		if made.status != http.StatusCreated || made.header.Get("Content-Type") != runtime.ContentTypeProtobuf {
			t.Errorf("%s: %d %s %q", path, made.status, made.header.Get("Content-Type"), made.body)
			continue
		}
		got, _, err := codec.Decode(made.body, nil, nil)
		must.OK(t, err)
		name := nameOf(t, obj)
		same(t, path+"/"+name+" in protobuf", obj, got)
		read := ours.send(t, get(path+"/"+name))
		inJSON := got.DeepCopyObject()
		if err := json.Unmarshal(read.body, inJSON); err != nil {
			t.Error(err)
		}
		same(t, path+"/"+name+" in JSON", obj, inJSON)
	}
}

func pathOf(gvk schema.GroupVersionKind) string {
	plural := map[string]string{
		"Secret": "secrets", "ConfigMap": "configmaps", "Service": "services", "Deployment": "deployments", "Job": "jobs",
		"Role": "roles", "Event": "events", "Pod": "pods",
	}[gvk.Kind]
	if gvk.Group == "" {
		return "/api/v1/namespaces/ns/" + plural
	}
	return "/apis/" + gvk.Group + "/" + gvk.Version + "/namespaces/ns/" + plural
}

func nameOf(t *testing.T, obj runtime.Object) string {
	t.Helper()
	meta, ok := obj.(metav1.Object)
	if !ok {
		t.Fatalf("%T has no name", obj)
	}
	return meta.GetName()
}

// same compares everything but what a server sets.
func same(t *testing.T, what string, want, got runtime.Object) {
	t.Helper()
	texts := make([]string, 0, 2)
	for _, obj := range []runtime.Object{want, got} {
		b, err := json.Marshal(obj)
		must.OK(t, err)
		var m map[string]any
		must.OK(t, json.Unmarshal(b, &m))
		delete(m, "status")
		meta, _ := m["metadata"].(map[string]any)
		for _, k := range []string{"namespace", "uid", "resourceVersion", "generation", "creationTimestamp"} {
			delete(meta, k)
		}
		b, err = json.MarshalIndent(m, "", " ")
		must.OK(t, err)
		texts = append(texts, string(b))
	}
	if diff := cmp.Diff(texts[0], texts[1]); diff != "" {
		t.Errorf("%s (-sent +came back):\n%s", what, diff)
	}
}
