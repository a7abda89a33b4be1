package objects

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Pods returns n Pods of 8 KB in JSON, after those in a gzipped PodList that an API server sent. Of that it reads
// no more than it needs: one for each Pod, and at most all.
//
// Pods are unlike as those of a real cluster are, see unlike.go. If alike is true, they
// differ only where they must: in name, UID, version, address, node and IDs of containers.
func Pods(file string, n int, alike bool) (*Set, error) {
	pods, err := readPods(file, max(n, 1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	examples, places := make([]object, len(pods)), make([][]place, len(pods))
	for i, pod := range pods {
		if !alike {
			places[i] = makeUnlike(pod)
		}
		if err := makePodTemplate(pod); err != nil {
			return nil, fmt.Errorf("read %s: pod %d: %w", file, i, err)
		}
		examples[i] = pod
	}
	return newSet("pods", "Pod", n, examples, places...)
}

// readPods reads the first Pods of the list.
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

// Type returns the plural name of the nth resource that has the ConfigMaps of the nth namespace.
func Type(n int) string { return fmt.Sprintf("configmaps-%03d", n) }

// CutType returns the number of a resource that has a name of Type, and configmaps as its name. It returns any other name
// as it is, and false.
func CutType(resource string) (name string, number int, numbered bool) {
	before, after, found := strings.Cut(resource, "-")
	n, err := strconv.Atoi(after)
	if !found || err != nil || Type(n) != resource {
		return resource, 0, false
	}
	return before, n, true
}

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
