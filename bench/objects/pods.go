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

// Pods returns n Pods of 7.8 KB in JSON, after those in a gzipped PodList that an API server sent.
func Pods(file string, n int) (*Set, error) {
	list, err := readPods(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	examples := make([]object, len(list.Items))
	for i := range list.Items {
		pod := &list.Items[i]
		if err := makePodTemplate(pod); err != nil {
			return nil, fmt.Errorf("read %s: pod %d: %w", file, i, err)
		}
		examples[i] = pod
	}
	return newSet("pods", "Pod", n, examples)
}

func readPods(file string) (*corev1.PodList, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	list := new(corev1.PodList)
	if err := json.NewDecoder(unzipped).Decode(list); err != nil {
		return nil, err
	}
	if len(list.Items) == 0 {
		return nil, fmt.Errorf("no pods in it")
	}
	return list, nil
}

// makePodTemplate writes placeholders where one Pod differs from its neighbours.
func makePodTemplate(pod *corev1.Pod) error {
	address := pod.Status.PodIP
	if pod.GenerateName == "" || address == "" || len(pod.Status.ContainerStatuses) >= len(hashPlaces) {
		return fmt.Errorf("%s has no generateName, no address, or too many containers", pod.Name)
	}
	pod.Name = pod.GenerateName + namePlace.placeholder
	setMeta(&pod.ObjectMeta)
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

// setMeta writes the placeholders that every object has.
func setMeta(meta *metav1.ObjectMeta) {
	meta.UID = types.UID(uidPlace.placeholder)
	meta.ResourceVersion = versionPlace.placeholder
	metav1.SetMetaDataAnnotation(meta, SentAnnotation, sentPlace.placeholder)
}

// PerNamespace is how many ConfigMaps there are in a namespace.
const PerNamespace = 10

// Namespace returns the name of the nth namespace that has ConfigMaps.
func Namespace(n int) string { return fmt.Sprintf("team-%04d", n) }

// ConfigMaps returns n ConfigMaps of 430 bytes in JSON.
func ConfigMaps(n int) (*Set, error) {
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name:              "settings-" + namePlace.placeholder,
			Namespace:         "team-" + spacePlace.placeholder,
			CreationTimestamp: metav1.Unix(1_790_000_000, 0),
			Labels:            map[string]string{"app.kubernetes.io/name": "settings", "tier": "backend"},
		},
		Data: map[string]string{"log-level": "info", "listen": ":8080"},
	}
	setMeta(&cm.ObjectMeta)
	return newSet("configmaps", "ConfigMap", n, []object{cm})
}

func objectMeta(obj object) *metav1.ObjectMeta {
	return obj.(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta)
}
