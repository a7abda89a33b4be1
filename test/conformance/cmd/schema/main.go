// Command schema writes apitest/schema.txt: the messages of Kubernetes' types in protobuf, by
// reflection over k8s.io/api, which the module of apitest does without. `go run ./cmd/schema
// >../../apitest/schema.txt` renews it.
package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// roots are the types that apitest serves, by the names that their messages get.
var roots = []any{
	corev1.ConfigMap{},
	corev1.Endpoints{}, //nolint:staticcheck // it is served

	corev1.Event{},
	corev1.Namespace{},
	corev1.Node{},
	corev1.PersistentVolumeClaim{},
	corev1.PersistentVolume{},
	corev1.Pod{},
	corev1.ReplicationController{},
	corev1.Secret{},
	corev1.ServiceAccount{},
	corev1.Service{},
	appsv1.DaemonSet{},
	appsv1.Deployment{},
	appsv1.ReplicaSet{},
	appsv1.StatefulSet{},
	batchv1.CronJob{},
	batchv1.Job{},
	coordinationv1.Lease{},
	discoveryv1.EndpointSlice{},
	eventsv1.Event{},
	networkingv1.Ingress{},
	networkingv1.NetworkPolicy{},
	rbacv1.ClusterRole{},
	rbacv1.Role{},
	metav1.DeleteOptions{},
}

// special are types whose JSON is not that of their fields.
var special = map[reflect.Type]string{
	reflect.TypeFor[metav1.Time]():          "time",
	reflect.TypeFor[metav1.MicroTime]():     "microtime",
	reflect.TypeFor[resource.Quantity]():    "quantity",
	reflect.TypeFor[intstr.IntOrString]():   "intstr",
	reflect.TypeFor[metav1.FieldsV1]():      "raw",
	reflect.TypeFor[runtime.RawExtension](): "raw",
}

func main() {
	if _, err := os.Stdout.WriteString(generate()); err != nil {
		fmt.Fprintln(os.Stderr, "schema:", err)
		os.Exit(1)
	}
}

func generate() string {
	messages := make(map[string][]string)
	for _, r := range roots {
		describe(messages, reflect.TypeOf(r))
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(messages)) {
		b.WriteString(name + "\n")
		for _, line := range messages[name] {
			b.WriteString("\t" + line + "\n")
		}
	}
	return b.String()
}

// nameOf returns "core/v1.Pod".
func nameOf(t reflect.Type) string {
	parts := strings.Split(t.PkgPath(), "/")
	return strings.Join(parts[len(parts)-2:], "/") + "." + t.Name()
}

// describe adds the message of t and those that it needs. A line is the number, the name in JSON,
// "" for what is inline, and the type; "?" behind it says that a zero is left out of JSON.
func describe(messages map[string][]string, t reflect.Type) {
	name := nameOf(t)
	if _, ok := messages[name]; ok {
		return
	}
	messages[name] = nil
	var lines []string
	for f := range t.Fields() {
		tag := strings.Split(f.Tag.Get("protobuf"), ",")
		if len(tag) < 2 {
			continue // TypeMeta
		}
		jsonName, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		kind := kindOf(messages, f.Type)
		jsonName = cmp.Or(jsonName, "-")
		if strings.Contains(options, "omitempty") && f.Type.Kind() != reflect.Pointer {
			kind += "?"
		}
		lines = append(lines, strings.Join([]string{tag[1], jsonName, kind}, " "))
	}
	messages[name] = lines
}

func kindOf(messages map[string][]string, t reflect.Type) string {
	if s, ok := special[t]; ok {
		return s
	}
	switch t.Kind() {
	case reflect.Pointer:
		return kindOf(messages, t.Elem())
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Int32, reflect.Int64, reflect.Int:
		return "int"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return "[]" + kindOf(messages, t.Elem())
	case reflect.Map:
		return "map:" + kindOf(messages, t.Elem())
	case reflect.Struct:
		describe(messages, t)
		return nameOf(t)
	default:
		panic(fmt.Sprintf("schema: %s has no message", t))
	}
}
