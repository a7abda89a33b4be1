package objects

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Pods returns n Pods of 8 KB in JSON, after those in a gzipped PodList that an API server sent. Of
// that it reads no more than it needs: one for each Pod, and at most all. Pods are unlike as those
// of a real cluster are, see unlike.go.
func Pods(file string, n int) (*Set, error) {
	pods, err := readPods(file, max(n, 1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	set := &Set{Len: n}
	for i, pod := range pods {
		places := makeUnlike(pod)
		err := makePodTemplate(pod)
		if err == nil {
			err = set.add(pod, places)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: pod %d: %w", file, i, err)
		}
	}
	return set, nil
}

func readPods(file string, most int) ([]*corev1.Pod, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(unzipped)
	for token := json.Token(nil); token != "items"; {
		if token, err = decoder.Token(); err != nil {
			return nil, fmt.Errorf("look for items: %w", err)
		}
	}
	if bracket, err := decoder.Token(); err != nil {
		return nil, err
	} else if bracket != json.Delim('[') {
		return nil, fmt.Errorf("items is %v and no list", bracket)
	}
	var pods []*corev1.Pod
	for len(pods) < most && decoder.More() {
		pod := new(corev1.Pod)
		if err := decoder.Decode(pod); err != nil {
			return nil, err
		}
		pods = append(pods, pod)
	}
	if len(pods) == 0 {
		return nil, fmt.Errorf("no pods in it")
	}
	return pods, nil
}

// makePodTemplate writes placeholders where one Pod differs from its neighbours.
func makePodTemplate(pod *corev1.Pod) error {
	address := pod.Status.PodIP
	if pod.GenerateName == "" || address == "" || len(pod.Status.ContainerStatuses) >= len(hashPlaces) {
		return fmt.Errorf("%s has no generateName, no address, or too many containers", pod.Name)
	}
	pod.Name = pod.GenerateName + namePlace.placeholder
	pod.UID = types.UID(uidPlace.placeholder)
	pod.ResourceVersion = versionPlace.placeholder
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, SentAnnotation, sentPlace.placeholder)
	for i := range pod.ManagedFields {
		fields := pod.ManagedFields[i].FieldsV1
		raw := strings.ReplaceAll(fields.GetRawString(), `"`+address+`\"`, `"`+addressPlace.placeholder+`\"`)
		fields.SetRawString(raw)
	}
	if _, ok := pod.Annotations["cni.example.com/containerID"]; ok {
		pod.Annotations["cni.example.com/containerID"] = hashPlaces[len(hashPlaces)-1].placeholder
	}
	pod.Spec.NodeName = "node-" + nodePlace.placeholder
	pod.Status.PodIP = addressPlace.placeholder
	pod.Status.PodIPs = []corev1.PodIP{{IP: addressPlace.placeholder}}
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		scheme, _, _ := strings.Cut(status.ContainerID, "://")
		status.ContainerID = scheme + "://" + hashPlaces[i].placeholder
	}
	return nil
}
