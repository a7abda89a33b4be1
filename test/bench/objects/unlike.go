package objects

import (
	"encoding/binary"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Replicas is how many Pods a workload has. The names of a workload,
// its labels, images and environment, and the UID of its ReplicaSet are those of all its
// Pods, and of no others.
const Replicas = 8

// workloadOf returns the workload of a Pod. The replicas of one are neighbours in a list.
func workloadOf(v Values) uint64 { return uint64(v.Index) / Replicas }

var (
	workloadPlace = place{placeholder: "@WORK", write: func(dst []byte, v Values) { digits(dst, workloadOf(v), 36) }}
	ownerPlace    = place{placeholder: pad("@OWNER", 36), write: func(dst []byte, v Values) { uidOf(dst, workloadOf(v), 200) }}
	digestPlace   = place{placeholder: pad("@DIGEST", 64), write: func(dst []byte, v Values) {
		for i := 0; i < len(dst); i += 16 {
			digits(dst[i:i+16], mix(workloadOf(v), uint64(300+i)), 16)
		}
	}}
)

// makeUnlike writes placeholders wherever Pods of a real cluster differ, beside those of
// makePodTemplate, and returns their places.
func makeUnlike(pod *corev1.Pod) []place {
	own := func(s string) string { return s + "-" + workloadPlace.placeholder }
	pod.GenerateName = strings.TrimSuffix(pod.GenerateName, "-") + "-" + workloadPlace.placeholder + "-"
	for key, value := range pod.Labels {
		if key != "tier" && !strings.HasPrefix(key, "topology.") { // these have few values
			pod.Labels[key] = own(value)
		}
	}
	for key := range pod.Annotations {
		if strings.HasPrefix(key, "checksum/") {
			pod.Annotations[key] = digestPlace.placeholder
		}
	}
	for i := range pod.OwnerReferences {
		owner := &pod.OwnerReferences[i]
		for j := range pod.ManagedFields {
			fields := pod.ManagedFields[j].FieldsV1
			fields.SetRawString(strings.ReplaceAll(fields.GetRawString(), string(owner.UID), ownerPlace.placeholder))
		}
		owner.Name, owner.UID = own(owner.Name), types.UID(ownerPlace.placeholder)
	}
	for i := range pod.Spec.Volumes {
		if source := pod.Spec.Volumes[i].ConfigMap; source != nil {
			source.Name = own(source.Name)
		}
	}
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		container.Image = own(container.Image)
		for j := range container.Env {
			if env := &container.Env[j]; env.Value != "" {
				env.Value = own(env.Value)
			}
		}
	}
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		status.Image = own(status.Image)
		if name, _, ok := strings.Cut(status.ImageID, "@sha256:"); ok {
			status.ImageID = name + "@sha256:" + digestPlace.placeholder
		}
	}
	return append(makeTimes(pod), workloadPlace, ownerPlace, digestPlace)
}

// firstSentinel is a time that no Pod has. Those after it take the places of the times of a
// Pod. It and all times of Pods are varints of five bytes in protobuf.
const firstSentinel = 2_000_000_000

// makeTimes replaces the times of a Pod, each by one that stands as long after the Pod's
// creation, up to 5 s of chance, and returns their places.
func makeTimes(pod *corev1.Pod) (places []place) {
	created := pod.CreationTimestamp.Time
	var known []time.Time
	replace := func(at *metav1.Time) {
		if at == nil || at.IsZero() {
			return
		}
		n := slices.Index(known, at.Time)
		if n < 0 {
			n = len(known)
			known = append(known, at.Time)
			places = append(places, timePlaces(n, int64(at.Sub(created).Seconds()))...)
		}
		at.Time = time.Unix(firstSentinel+int64(n), 0).UTC()
	}
	replace(&pod.CreationTimestamp)
	replace(pod.Status.StartTime)
	for i := range pod.ManagedFields {
		// The writer of the status comes back whenever a Pod changes.
		if entry := &pod.ManagedFields[i]; entry.Time != nil {
			entry.Time = &metav1.Time{Time: entry.Time.Add(time.Duration(1+i) * time.Hour)}
			replace(entry.Time)
		}
	}
	for i := range pod.Status.Conditions {
		replace(&pod.Status.Conditions[i].LastTransitionTime)
	}
	for i := range pod.Status.ContainerStatuses {
		if running := pod.Status.ContainerStatuses[i].State.Running; running != nil {
			replace(&running.StartedAt)
		}
	}
	return places
}

// timePlaces are those of the nth time of a Pod: as text, and as a varint in protobuf.
func timePlaces(n int, offset int64) []place {
	at := func(v Values) int64 {
		created := 1_780_000_000 + int64(mix(uint64(v.Index), 400)%10_000_000)
		return created + offset + int64(mix(uint64(v.Index), uint64(401+n))%5)
	}
	text, varint := JSON, Protobuf
	sentinel := time.Unix(firstSentinel+int64(n), 0).UTC()
	writeText := func(dst []byte, v Values) { time.Unix(at(v), 0).UTC().AppendFormat(dst[:0], time.RFC3339) }
	return []place{
		{placeholder: sentinel.Format(time.RFC3339), write: writeText, only: &text},
		{
			placeholder: string(binary.AppendUvarint([]byte{1 << 3}, uint64(sentinel.Unix()))),
			write:       func(dst []byte, v Values) { binary.PutUvarint(dst[1:], uint64(at(v))) },
			only:        &varint,
		},
	}
}
