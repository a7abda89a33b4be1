package record

import (
	"cmp"
	"slices"
	"strings"
	"testing"
)

// Pseudonyms of keys are in the order of the keys, which is that of inferred
// deletions: "a-b/x" is before "a/x", though "a" is before "a-b".
func TestScrubKeepsOrder(t *testing.T) {
	keys := []string{"a/x", "a-b/x", "a.b/x", "a/xx", "b/a-1", "b/a", "b/a1", "c/x", "c/z", "c/y"}
	l := &list{}
	for i, key := range keys {
		namespace, name, _ := strings.Cut(key, "/")
		l.objects = append(l.objects, object{namespace: namespace, name: name, uid: key + string(rune('a'+i))})
	}
	c := &conversation{about: about{kind: "Pod", resource: "pods", path: "/api/v1/pods"}}
	c.exchanges = []*exchange{{target: "/api/v1/pods", items: []item{{what: l}}}}
	scrubbed := scrub(c).exchanges[0].items[0].what.(*list)
	uids := map[string]bool{}
	for i := range keys {
		for j := range keys {
			before, after := cmp.Compare(keys[i], keys[j]), cmp.Compare(scrubbed.objects[i].key(), scrubbed.objects[j].key())
			if before != after {
				t.Errorf("%s, %s became %s, %s", keys[i], keys[j], scrubbed.objects[i].key(), scrubbed.objects[j].key())
			}
		}
		uids[scrubbed.objects[i].uid] = true
	}
	if len(uids) != len(keys) {
		t.Errorf("%d UIDs for %d objects", len(uids), len(keys))
	}
}

// An object that was deleted and made again has two UIDs.
func TestScrubUIDs(t *testing.T) {
	l := &list{objects: []object{{namespace: "n", name: "a", uid: "1"}, {namespace: "n", name: "a", uid: "2"}, {namespace: "n", name: "a", uid: "1"}}}
	c := &conversation{about: about{kind: "Pod", resource: "pods", path: "/api/v1/pods"}}
	c.exchanges = []*exchange{{items: []item{{what: l}}}}
	var got []string
	for _, o := range scrub(c).exchanges[0].items[0].what.(*list).objects {
		got = append(got, o.String())
	}
	if want := []string{"pod-1@", "pod-1@ uid=uid-pod-1-2", "pod-1@"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func testScrubber() *scrubber {
	return &scrubber{
		about:      about{resource: "configmaps", kind: "ConfigMap"},
		namespaces: map[string]string{"payments": "namespace-1"},
		names:      map[string]string{"alice": "configmap-1", `cn=a,ou=b`: "configmap-2"},
		uids:       map[string]string{"5d5c": "uid-1"},
		rest:       map[string]map[string]string{},
	}
}

// A message stays only if it is about versions, and a reason only if Kubernetes has it.
func TestScrubStatus(t *testing.T) {
	for text, want := range map[string]string{
		"too old resource version: 160 (400)":                    "too old resource version: 160 (400)",
		"Too large resource version: 6, current: 5":              "Too large resource version: 6, current: 5",
		"Timeout: Too large resource version: 6, current: 5":     "Timeout: Too large resource version: 6, current: 5",
		"The resourceVersion for the provided watch is too old.": "The resourceVersion for the provided watch is too old.",
		"too old resource version: 160 (400) of alice":           "",
		`configmaps "alice" not found`:                           "",
		"":                                                       "",
	} {
		got := testScrubber().said(&status{message: text, reason: "alice", causes: []string{"alice", "ResourceVersionTooLarge"}}).(*status)
		if got.message != want || got.reason != "" || !slices.Equal(got.causes, []string{"", "ResourceVersionTooLarge"}) {
			t.Errorf("%s became %+v, want %s", text, got, want)
		}
	}
}

func TestScrubRequests(t *testing.T) {
	s := testScrubber()
	s.about.resource = "configmaps"
	for target, want := range map[string]string{
		"/api/v1/namespaces/payments/configmaps?continue=abc&limit=1":                 "/api/v1/namespaces/namespace-1/configmaps?continue=continue-1&limit=1",
		"/api/v1/configmaps?fieldSelector=metadata.name%3Dalice":                      "/api/v1/configmaps?fieldSelector=metadata.name%3Dconfigmap-1",
		"/api/v1/configmaps?fieldSelector=metadata.name%3Dcn%5C%3Da%5C%2Cou%5C%3Db":   "/api/v1/configmaps?fieldSelector=metadata.name%3Dconfigmap-2",
		"/api/v1/configmaps?fieldSelector=a.b%21%3Dx%2Cmetadata.namespace%3Dpayments": "/api/v1/configmaps?fieldSelector=value-1%21%3Dvalue-2%2Cmetadata.namespace%3Dnamespace-1",
		"/api/v1/configmaps?labelSelector=app+in+%28x%2Cy%29":                         "/api/v1/configmaps?labelSelector=value-1+in+%28value-2%2Cvalue-3%29",
		"/api/v1/namespaces/payments/configmaps/alice":                                "/api/v1/namespaces/namespace-1/configmaps/configmap-1",
		"/apis/apps/v1/namespaces/payments/deployments?resourceVersion=0":             "/apis/apps/v1/namespaces/namespace-1/deployments?resourceVersion=0",
		"/api/v1/namespaces?watch=true":                                               "/api/v1/namespaces?watch=true",
	} {
		s.rest = map[string]map[string]string{}
		s.about.resource, _, _ = strings.Cut(lastCollection(want), "?")
		if got := s.target(target); got != want {
			t.Errorf("%s\nbecame %s\nwant   %s", target, got, want)
		}
	}
}

// lastCollection is the resource of a path that may end in a name.
func lastCollection(path string) string {
	path = strings.TrimSuffix(path, "/configmap-1")
	return path[strings.LastIndex(path, "/")+1:]
}
