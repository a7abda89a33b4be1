package apitest

import (
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// scaled has the types, by Resource.ID, that have the subresource scale.
var scaled = []string{"deployments.apps", "replicasets.apps", "statefulsets.apps", "replicationcontrollers"}

func (r *Resource) hasScale() bool { return slices.Contains(scaled, r.ID()) }

// scaleOf returns the autoscaling/v1 Scale of an object.
func scaleOf(obj map[string]any) map[string]any {
	meta := make(map[string]any)
	for _, k := range []string{"name", "namespace", "uid", "resourceVersion", "creationTimestamp"} {
		if v, ok := metadataOf(obj)[k]; ok {
			meta[k] = v
		}
	}
	spec, status := make(map[string]any), map[string]any{"replicas": int64(0)}
	if n, ok := lookup(obj, "spec.replicas").(int64); !ok {
		spec["replicas"] = int64(1) // the default
	} else if n != 0 {
		spec["replicas"] = n
	}
	if n, ok := lookup(obj, "status.replicas").(int64); ok {
		status["replicas"] = n
	}
	if selector := selectorText(lookup(obj, "spec.selector")); selector != "" {
		status["selector"] = selector
	}
	return map[string]any{"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": meta, "spec": spec, "status": status}
}

// selectorText returns a selector as it is written in a query.
func selectorText(v any) string {
	m, ok := v.(map[string]any)
	if !ok {
		return ""
	}
	if _, ok := m["matchLabels"]; !ok && m["matchExpressions"] == nil {
		return metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: stringMap(m)}) // a ReplicationController has only labels
	}
	return metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: stringMap(m["matchLabels"])})
}

// rescale returns obj with the replicas and the resourceVersion of a Scale.
func rescale(obj, scale map[string]any) (map[string]any, error) {
	replicas, ok := lookup(scale, "spec.replicas").(int64)
	if given := lookup(scale, "spec.replicas"); given != nil && !ok || replicas < 0 {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("spec.replicas: %v: want 0 or more", lookup(scale, "spec.replicas")))
	}
	obj, meta := shallow(obj)
	spec, _ := obj["spec"].(map[string]any)
	next := make(map[string]any, len(spec)+1)
	for k, v := range spec { // the order does not matter: they go into a map
		next[k] = v
	}
	next["replicas"] = replicas
	obj["spec"] = next
	meta["resourceVersion"] = metadataOf(scale)["resourceVersion"]
	return obj, nil
}

// writeScale answers with the Scale of an object.
func writeScale(w http.ResponseWriter, req *http.Request, res *Resource, code int, r *revision) error {
	obj, err := r.decode(res)
	if err != nil {
		return err
	}
	b := mustJSON(scaleOf(obj))
	if preferred(req) == yamlMediaType {
		writeYAML(w, code, b)
		return nil
	}
	writeBytes(w, code, "application/json", append(b, '\n'))
	return nil
}
