package objects

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/relist-go/relist/internal/must"
)

const podsFile = "../../../testdata/pods-300.json.gz"

// TestPods decodes Pods from each format: they are equal, and no two of them are the same.
func TestPods(t *testing.T) {
	set, err := Pods(podsFile, 400)
	must.OK(t, err)
	seen := map[string]string{}
	last := ""
	for i := range set.Len {
		v := Values{Index: i, Version: uint64(1_000_000_000 + i), Sent: 1_790_000_000_000_000_000}
		encoded := set.Template(JSON, Item, i).Append(nil, v)
		if at := strings.Index(string(encoded), "@"); at >= 0 && !strings.Contains(string(encoded[at:]), "@sha256") {
			t.Fatalf("pod %d has a placeholder left: %.60s", i, encoded[at:])
		}
		var fromJSON, fromProtobuf corev1.Pod
		must.OK(t, json.Unmarshal(encoded, &fromJSON))
		must.OK(t, fromProtobuf.Unmarshal(set.Template(Protobuf, Item, i).Append(nil, v)))
		if diff := cmp.Diff(fromJSON, fromProtobuf); diff != "" {
			t.Fatalf("pod %d, JSON and protobuf: %s", i, diff)
		}
		p := fromJSON
		key := p.Namespace + "/" + p.Name
		if key <= last {
			t.Errorf("pod %d: %s comes after %s", i, key, last)
		}
		last = key
		for what, value := range map[string]string{"name": key, "UID": string(p.UID), "version": p.ResourceVersion, "IP": p.Status.PodIP, "ID": p.Status.ContainerStatuses[0].ContainerID} {
			if owner, ok := seen[what+value]; ok {
				t.Errorf("pod %d has the %s %s of %s", i, what, value, owner)
			}
			seen[what+value] = key
		}
	}
}
