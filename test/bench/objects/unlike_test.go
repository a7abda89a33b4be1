package objects

import (
	"encoding/json"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/relist-go/relist/internal/must"
)

// Pods of different workloads have only the shape in common. Pods of one workload share
// the parts from its template.
func TestUnlikePods(t *testing.T) {
	set, err := Pods(podsFile, 900)
	must.OK(t, err)
	pods := make([]corev1.Pod, set.Len)
	for i := range pods {
		must.OK(t, json.Unmarshal(set.Template(JSON, Item, i).Append(nil, Values{Index: i, Version: uint64(i)}), &pods[i]))
	}
	workloads := (900 + Replicas - 1) / Replicas
	for name, test := range map[string]struct {
		of    func(*corev1.Pod) any
		least int
	}{
		"name":           {func(p *corev1.Pod) any { return p.Name }, 900},
		"creation":       {func(p *corev1.Pod) any { return p.CreationTimestamp }, 890},
		"labels":         {func(p *corev1.Pod) any { return p.Labels }, workloads},
		"image":          {func(p *corev1.Pod) any { return p.Spec.Containers[0].Image }, workloads},
		"image ID":       {func(p *corev1.Pod) any { return p.Status.ContainerStatuses[0].ImageID }, workloads},
		"environment":    {func(p *corev1.Pod) any { return p.Spec.Containers[0].Env }, workloads},
		"owner":          {func(p *corev1.Pod) any { return p.OwnerReferences[0].UID }, workloads},
		"last written":   {func(p *corev1.Pod) any { return p.ManagedFields[0].Time }, 890},
		"start":          {func(p *corev1.Pod) any { return p.Status.StartTime }, 890},
		"condition":      {func(p *corev1.Pod) any { return p.Status.Conditions[0].LastTransitionTime }, 890},
		"what was given": {func(p *corev1.Pod) any { return p.ManagedFields[0].FieldsV1 }, workloads},
	} {
		values := map[string]bool{}
		for i := range pods {
			values[fmt.Sprint(test.of(&pods[i]))] = true
		}
		if len(values) < test.least {
			t.Errorf("Pods have %d values of %s, want at least %d", len(values), name, test.least)
		}
	}
}
