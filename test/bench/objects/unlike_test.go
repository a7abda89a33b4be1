package objects

import (
	"encoding/json"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// Pods of different workloads have only the shape in common. Pods of one workload share
// the parts from its template. Alike Pods differ only in the parts that identify them.
func TestUnlikePods(t *testing.T) {
	pods := func(alike bool) (all []corev1.Pod) {
		set, err := Pods(podsFile, 900, alike)
		must(t, err)
		for i := range set.Len {
			var pod corev1.Pod
			must(t, json.Unmarshal(set.Template(JSON, Full, Item, i).Append(nil, Values{Index: i, Version: uint64(i)}), &pod))
			all = append(all, pod)
		}
		return all
	}
	distinct := func(all []corev1.Pod, of func(*corev1.Pod) any) int {
		values := map[string]bool{}
		for i := range all {
			values[fmt.Sprint(of(&all[i]))] = true
		}
		return len(values)
	}
	workloads := (900 + Replicas - 1) / Replicas
	unlike, alike := pods(false), pods(true)
	for name, test := range map[string]struct {
		of                    func(*corev1.Pod) any
		leastUnlike, mostLike int
	}{
		"name":           {func(p *corev1.Pod) any { return p.Name }, 900, 900},
		"creation":       {func(p *corev1.Pod) any { return p.CreationTimestamp }, 890, 300},
		"labels":         {func(p *corev1.Pod) any { return p.Labels }, workloads, 20},
		"image":          {func(p *corev1.Pod) any { return p.Spec.Containers[0].Image }, workloads, 2},
		"image ID":       {func(p *corev1.Pod) any { return p.Status.ContainerStatuses[0].ImageID }, workloads, 20},
		"environment":    {func(p *corev1.Pod) any { return p.Spec.Containers[0].Env }, workloads, 20},
		"owner":          {func(p *corev1.Pod) any { return p.OwnerReferences[0].UID }, workloads, 20},
		"last written":   {func(p *corev1.Pod) any { return p.ManagedFields[0].Time }, 890, 300},
		"start":          {func(p *corev1.Pod) any { return p.Status.StartTime }, 890, 300},
		"condition":      {func(p *corev1.Pod) any { return p.Status.Conditions[0].LastTransitionTime }, 890, 300},
		"what was given": {func(p *corev1.Pod) any { return p.ManagedFields[0].FieldsV1 }, workloads, 20},
	} {
		if n := distinct(unlike, test.of); n < test.leastUnlike {
			t.Errorf("unlike Pods have %d values of %s, want at least %d", n, name, test.leastUnlike)
		}
		if n := distinct(alike, test.of); n > test.mostLike {
			t.Errorf("alike Pods have %d values of %s, want at most %d", n, name, test.mostLike)
		}
	}
}
