package record

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
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
		about:      about{resource: "configmaps", kind: "ConfigMap", apiVersion: "v1"},
		namespaces: map[string]string{"payments": "namespace-1"},
		names:      map[string]string{"alice": "configmap-1"},
		uids:       map[string]string{"5d5c": "uid-1"},
		rest:       map[string]map[string]string{},
	}
}

func TestScrubMessages(t *testing.T) {
	for text, want := range map[string]string{
		"too old resource version: 160 (400)":                    "too old resource version: 160 (400)",
		"Too large resource version: 6, current: 5":              "Too large resource version: 6, current: 5",
		"The resourceVersion for the provided watch is too old.": "The resourceVersion for the provided watch is too old.",
		`configmaps "alice" not found`:                           `configmaps "configmap-1" not found`,
		`configmaps is forbidden: User "jo@example.com" cannot list resource "configmaps" in API group "" in the namespace "payments"`: `configmaps is forbidden: User "value-1" cannot list resource "configmaps" in API group "" in the namespace "namespace-1"`,
		"dial tcp 10.1.2.3:2379: connect: connection refused":                                                                          "dial tcp value-1:2379: connect: connection refused",
		`configmaps "42" not found ☃`: `configmaps "value-1" not found ?`,
		"":                            "",
	} {
		if got := testScrubber().message(text); got != want {
			t.Errorf("%s\nbecame %s\nwant   %s", text, got, want)
		}
	}
}

func TestScrubJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{"metadata":{"labels":{"app":"shop"},"annotations":{"app":"shop"},"name":"alice","namespace":"payments","uid":"5d5c"}}`:                                           `{"metadata":{"annotations":{"key-1":"value-1"},"labels":{"key-1":"value-1"},"name":"configmap-1","namespace":"namespace-1","uid":"uid-1"}}`,
		`{"metadata":{"managedFields":[{"manager":"alice"}],"generation":27},"spec":{"nodeName":"n1","replicas":-3.5e1,"env":[{"name":"PASS","value":"hunter2"}]}}`:        `{"metadata":{"generation":11},"spec":{"key-1":[{"key-2":"value-1","key-3":"value-2"}],"key-4":"value-3","key-5":-1.1e1}}`,
		`{"kind":"Widget","apiVersion":"example.com/v1","my key":{"a":"b"},"metadata":{"creationTimestamp":"2026-11-20T11:28:31Z","deletionTimestamp":"never"}}`:           `{"apiVersion":"version-1","key-1":{"key-2":"value-2"},"kind":"Kind-1","metadata":{"creationTimestamp":"2000-01-01T00:00:00Z","deletionTimestamp":"value-1"}}`,
		`{"kind":"Status","status":"Failure","message":"configmaps \"token\" not found","code":404,"details":{"name":"token","kind":"configmaps","retryAfterSeconds":17}}`: `{"code":404,"details":{"kind":"configmaps","name":"token","retryAfterSeconds":17},"kind":"Status","message":"configmaps \"token\" not found","status":"Failure"}`,
		`{"data":{"kind":"alice","message":"old"}}`: `{"data":{"key-1":"value-1","key-2":"value-2"}}`,
	} {
		if got := string(testScrubber().json(jsontext.Value(text))); got != want {
			t.Errorf("%s\nbecame %s\nwant   %s", text, got, want)
		}
	}
}

// What is no JSON stays as long and as broken as it was.
func TestScrubBytes(t *testing.T) {
	s := testScrubber()
	if got := string(s.bytes([]byte("<p>Größe 12: alice</p>\n"))); got != "<x>xxxxxxx 00: xxxxx</x>\n" {
		t.Errorf("%q", got)
	}
	if got := string(s.bytes([]byte(`{"type":"WEIRD","object":{"name":"alice"}}` + "\n"))); got != `{"object":{"key-1":"value-1"},"type":"value-2"}`+"\n" {
		t.Errorf("%q", got)
	}
}

func TestScrubRequests(t *testing.T) {
	s := testScrubber()
	s.about.resource = "configmaps"
	for target, want := range map[string]string{
		"/api/v1/namespaces/payments/configmaps?continue=abc&limit=1":     "/api/v1/namespaces/namespace-1/configmaps?continue=continue-1&limit=1",
		"/api/v1/configmaps?fieldSelector=metadata.name%3Dalice":          "/api/v1/configmaps?fieldSelector=metadata.name%3Dconfigmap-1",
		"/api/v1/configmaps?labelSelector=app+in+%28x%2Cy%29":             "/api/v1/configmaps?labelSelector=value-1+in+%28value-2%2Cvalue-3%29",
		"/api/v1/namespaces/payments/configmaps/alice":                    "/api/v1/namespaces/namespace-1/configmaps/configmap-1",
		"/apis/apps/v1/namespaces/payments/deployments?resourceVersion=0": "/apis/apps/v1/namespaces/namespace-1/deployments?resourceVersion=0",
		"/api/v1/namespaces?watch=true":                                   "/api/v1/namespaces?watch=true",
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

// Whatever an object has, and wherever it has it, no text of it survives. Each member of what is given here stands for
// a position; what begins with "canary" must be gone.
func TestScrubLeavesNoTextOfAnObject(t *testing.T) {
	for _, text := range []string{
		`{"kind":"CanaryKind","apiVersion":"canary.example.com/v1","metadata":{"name":"canary-name","resourceVersion":"canary version"}}`,
		`{"spec":{"tenants":{"canary":{"seats":4711}},"kind":"canary kind","status":"canary","type":"canary","resourceVersion":"canary","reason":"canary"}}`,
		`{"data":{"canaryKey":"canary"},"canaryTop":1,"spec":{"canaryKey":[{"canaryInList":"canary"}],"iban":12345678901234567890}}`,
		`{"metadata":{"labels":{"canary":"canary"},"annotations":{"k8s.io/initial-events-end":"canary"},"finalizers":["canary"],"canary":1}}`,
		`{"metadata":{"ownerReferences":[{"kind":"Canary","apiVersion":"canary/v1","name":"canary","uid":"canary","canary":true}]}}`,
		`{"metadata":{"managedFields":[{"manager":"canary","fieldsV1":{"f:canary":{}}}],"generateName":"canary-","selfLink":"/canary"}}`,
		`{"metadata":{"managedFields":{"canary":"canary"}}}`,
		`{"metadata":{"name":{"canary":1},"uid":["canary"],"resourceVersion":{"canary":"canary"},"creationTimestamp":"canary"}}`,
		`{"kind":"Status","message":"limit \"token\" of canary: canary.example.com","reason":"Canary","status":"Canary","details":{"name":"canary","group":"canary","kind":"canary","causes":[{"reason":"Canary","field":"canary","message":"canary"}],"canary":1}}`,
		`{"kind":"ConfigMapList","metadata":{"continue":"canary","resourceVersion":"canary","canary":"canary"},"items":[{"canary":"canary"}]}`,
		`{"type":"CANARY","object":{"kind":"Canary","spec":{"canary":"canary"}},"canary":1}`,
		`{"status":"canary","message":"canary","reason":"canary","type":"canary"}`,
		`["canary",{"canary":1}]`,
		`"canary"`,
	} {
		got := string(testScrubber().json(jsontext.Value(text)))
		if strings.Contains(strings.ToLower(got), "canary") || strings.Contains(got, "4711") || strings.Contains(got, "1234567") {
			t.Errorf("%s\nbecame %s", text, got)
		}
	}
}
