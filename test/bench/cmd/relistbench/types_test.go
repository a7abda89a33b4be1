package main

import (
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

// taken fails unless New takes a type, for JSON and for protobuf.
func taken[T object.Object](t *testing.T, client *transport.Client) {
	t.Helper()
	for _, encoding := range []listwatch.Encoding{listwatch.JSON, listwatch.Protobuf} {
		resource := schema.GroupVersionResource{Version: "v1", Resource: "objects"}
		if _, err := listwatch.New(client, resource, listwatch.Options[T]{Encoding: encoding}); err != nil {
			t.Error(err)
		}
	}
}

// The types of k8s.io/api, which no caller of New can change, are all right as they are.
func TestTypesOfTheAPI(t *testing.T) {
	client, err := transport.NewClient(transport.Config{Server: "http://localhost"})
	must.OK(t, err)
	defer client.Close()
	taken[*corev1.Pod](t, client)
	taken[*corev1.Node](t, client)
	taken[*corev1.Event](t, client)
	taken[*corev1.Secret](t, client)
	taken[*corev1.Service](t, client)
	taken[*corev1.ConfigMap](t, client)
	taken[*corev1.Endpoints](t, client) //nolint:staticcheck // still there, and served
	taken[*corev1.Namespace](t, client)
	taken[*corev1.LimitRange](t, client)
	taken[*corev1.ResourceQuota](t, client)
	taken[*corev1.PersistentVolume](t, client)
	taken[*corev1.PersistentVolumeClaim](t, client)
	taken[*appsv1.Deployment](t, client)
	taken[*appsv1.StatefulSet](t, client)
	taken[*appsv1.DaemonSet](t, client)
	taken[*appsv1.ControllerRevision](t, client)
	taken[*autoscalingv2.HorizontalPodAutoscaler](t, client)
	taken[*batchv1.CronJob](t, client)
	taken[*coordinationv1.Lease](t, client)
	taken[*discoveryv1.EndpointSlice](t, client)
	taken[*eventsv1.Event](t, client)
	taken[*flowcontrolv1.FlowSchema](t, client)
	taken[*networkingv1.Ingress](t, client)
	taken[*networkingv1.NetworkPolicy](t, client)
	taken[*policyv1.PodDisruptionBudget](t, client)
	taken[*rbacv1.ClusterRole](t, client)
	taken[*resourcev1.ResourceClaim](t, client)
	taken[*storagev1.StorageClass](t, client)
	taken[*storagev1.CSINode](t, client)
	taken[*admissionv1.ValidatingWebhookConfiguration](t, client)
	taken[*admissionv1.ValidatingAdmissionPolicy](t, client)
}
