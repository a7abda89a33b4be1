package apiserver

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/internal/must"
	table "github.com/relist-go/relist/server/watchcache"
	"github.com/relist-go/relist/test/conformance/cluster"
)

// fieldSelectors name each field of the types of apitest, with a value that an object has, and with
// the one that an object without the member has. A relay has the lists with a version in its cache.
func fieldSelectors() []request {
	const ns, jobs, nodes = "/api/v1/namespaces/{ns}", "/apis/batch/v1/namespaces/{ns}/jobs", "/api/v1/nodes"
	job := func(name string) string {
		return `{"metadata":{"name":"` + name + `","labels":{"a":"b"}},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}`
	}
	event := func(name, rest string) string {
		return `{"metadata":{"name":"` + name + `"},"involvedObject":{"namespace":"{ns}","kind":"Pod","name":"p","uid":"u","apiVersion":"v1","resourceVersion":"7","fieldPath":"f"},"reason":"r",` + rest + `}`
	}
	pod := func(name, spec string) string {
		return `{"metadata":{"name":"` + name + `"},"spec":{` + spec + `"containers":[{"name":"c","image":"i"}]}}`
	}
	var r []request
	for _, one := range []struct {
		path      string
		writes    []request
		selectors []string
	}{
		{
			jobs,
			[]request{post(jobs, job("none")), post(jobs, job("one")), patch("merge-patch+json", jobs+"/one/status", `{"status":{"succeeded":1}}`)},
			[]string{"status.successful=0", "status.successful=1"},
		},
		{
			ns + "/events",
			[]request{
				post(ns+"/events", event("old", `"type":"Normal","source":{"component":"kubelet"}`)),
				post(ns+"/events", event("new", `"type":"Warning","eventTime":"2026-01-02T03:04:05.000000Z","action":"a","reportingComponent":"k8s.io/scheduler","reportingInstance":"i"`)),
			},
			[]string{
				"involvedObject.kind=Pod", "involvedObject.namespace={ns}", "involvedObject.name=p", "involvedObject.uid=u", "involvedObject.apiVersion=v1",
				"involvedObject.resourceVersion=7", "involvedObject.fieldPath=f", "reason=r", "reportingComponent=k8s.io/scheduler", "reportingComponent=",
				"source=kubelet", "source=k8s.io/scheduler", "source=", "type=Normal", "type=",
			},
		},
		{
			ns + "/pods",
			[]request{
				post(ns+"/pods", pod("plain", "")), post(ns+"/pods", pod("a-special", `"nodeName":"{ns}","hostNetwork":true,"restartPolicy":"Never","schedulerName":"s",`)),
				post(ns+"/pods", pod("running", "")), patch("merge-patch+json", ns+"/pods/running/status", `{"status":{"phase":"Running","podIP":"1.2.3.4","podIPs":[{"ip":"1.2.3.4"}],"nominatedNodeName":"m"}}`),
			},
			[]string{
				"spec.nodeName={ns}", "spec.nodeName=", "spec.host={ns}", "spec.host=", "spec.restartPolicy=Never", "spec.schedulerName=s", "spec.serviceAccountName=",
				"spec.hostNetwork=true", "spec.hostNetwork=false", "status.phase=Running", "status.phase=Pending", "status.podIP=1.2.3.4", "status.podIP=",
				"status.podIPs=1.2.3.4", "status.podIPs=", "status.nominatedNodeName=m", "status.nominatedNodeName=",
			},
		},
		{
			nodes,
			[]request{post(nodes, `{"metadata":{"name":"{ns}","labels":{"s":"{ns}"}},"spec":{"unschedulable":true}}`)},
			[]string{"spec.unschedulable=true", "spec.unschedulable=false", "metadata.namespace="},
		},
		{
			ns + "/replicationcontrollers",
			[]request{post(ns+"/replicationcontrollers", `{"metadata":{"name":"rc","labels":{"a":"b"}},"spec":{"replicas":0,"selector":{"a":"b"},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`)},
			[]string{"status.replicas=0", "status.replicas=1"},
		},
		{ns + "/secrets", []request{post(ns+"/secrets", `{"metadata":{"name":"s"},"type":"example.com/x"}`)}, []string{"type=example.com/x", "type=Opaque"}},
		{
			ns + "/services",
			[]request{post(ns+"/services", `{"metadata":{"name":"s"},"spec":{"type":"ClusterIP","clusterIP":"None","selector":{"a":"b"}}}`)},
			[]string{"spec.clusterIP=None", "spec.clusterIP=", "spec.type=ClusterIP"},
		},
	} {
		one.writes[len(one.writes)-1].saveAs = "last"
		r = append(r, one.writes...)
		at := one.path + "?labelSelector=" + map[string]string{nodes: "s%3D{ns}"}[one.path] + "&fieldSelector="
		for _, selector := range one.selectors {
			for _, text := range []string{selector, strings.Replace(selector, "=", "!=", 1)} {
				text = strings.NewReplacer("=", "%3D", "/", "%2F").Replace(text)
				r = append(r, get(at+text), get(at+text+"&resourceVersion={last.rv}"))
			}
		}
		if one.path == ns+"/pods" {
			for _, version := range []string{"", "&resourceVersion=0", "&resourceVersion={last.rv}", "&resourceVersion={last.rv}&resourceVersionMatch=NotOlderThan"} {
				// Of a node that has one Pod, and of a node that has none of this kind: a list of
				// one node has an index.
				r = append(r, get(at+"spec.nodeName%3D{ns}&limit=1"+version), get(at+"spec.nodeName%3D{ns},spec.hostNetwork%3Dfalse&limit=1"+version), get(at+"spec.nodeName%3D&limit=1"+version))
			}
		}
	}
	return r
}

// TestSelectableFields asks a kube-apiserver, of each built-in type that it has, for each member of
// its objects and for each name of the table whether a field selector can name it.
func TestSelectableFields(t *testing.T) {
	t.Parallel()
	c := cluster.New(t, cluster.Options{APIServerFlags: []string{"--runtime-config=api/all=true"}})
	client, err := c.Access().HTTPClient()
	must.OK(t, err)
	t.Cleanup(client.CloseIdleConnections)
	s := (&side{name: "kube-apiserver", url: c.Access().URL, token: c.Access().AdminToken, client: client}).section("")
	types := builtIn(t, s)
	var names []string // of the whole table
	for _, one := range types {
		for _, field := range table.SelectableFields(one.resource.GroupResource()) {
			names = append(names, field.Name)
		}
	}
	var asking sync.WaitGroup
	for _, one := range types {
		asking.Go(func() {
			want := []string{"metadata.name"}
			own := table.SelectableFields(one.resource.GroupResource())
			// A type without fields of its own has this one also if it has no namespaces, and then
			// it is empty.
			if one.namespaced && table.SelectsNamespace(one.resource.GroupResource()) || len(own) == 0 {
				want = append(want, "metadata.namespace")
			}
			for _, field := range own {
				want = append(want, field.Name)
			}
			var got []string
			candidates := append(append([]string{"metadata.name", "metadata.namespace", "name"}, names...), one.members...)
			slices.Sort(candidates)
			for _, name := range slices.Compact(candidates) {
				switch a := s.send(t, get(one.path+"?limit=1&fieldSelector="+url.QueryEscape(name+"=x"))); a.status {
				case http.StatusOK:
					got = append(got, name)
				case http.StatusBadRequest:
				default:
					t.Errorf("%s by %s: %d %s", one.path, name, a.status, a.body)
				}
			}
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-table +kube-apiserver):\n%s", one.path, diff)
			}
		})
	}
	asking.Wait()
	if len(types) < 60 {
		t.Errorf("%d types, want 60 at least", len(types))
	}
}

// A builtInType is one version of a type that a server has.
type builtInType struct {
	resource   schema.GroupVersionResource
	namespaced bool
	path       string
	members    []string // of its objects, and of the objects in them: "type", "spec.nodeName"
}

func builtIn(t *testing.T, s *side) []builtInType {
	t.Helper()
	fetch := func(path string, into any) {
		if a := s.send(t, get(path)); json.Unmarshal(a.body, into) != nil || a.status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, a.status, a.body)
		}
	}
	var openapi struct {
		Definitions map[string]definition `json:"definitions"`
	}
	var groups metav1.APIGroupList
	fetch("/openapi/v2", &openapi)
	fetch("/apis", &groups)
	roots := []string{"/api/v1"}
	for _, g := range groups.Groups {
		for _, v := range g.Versions {
			roots = append(roots, "/apis/"+v.GroupVersion)
		}
	}
	var all []builtInType
	for _, root := range roots {
		var list metav1.APIResourceList
		fetch(root, &list)
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		must.OK(t, err)
		for _, r := range list.APIResources {
			if !slices.Contains(r.Verbs, "list") || strings.Contains(r.Name, "/") {
				continue
			}
			one := builtInType{resource: gv.WithResource(r.Name), namespaced: r.Namespaced, path: root + "/" + r.Name}
			for _, d := range openapi.Definitions { // candidates are sorted later
				if slices.Contains(d.Kinds, schema.GroupVersionKind{Group: gv.Group, Version: gv.Version, Kind: r.Kind}) {
					one.members = d.members(openapi.Definitions, 2)
				}
			}
			all = append(all, one)
		}
	}
	return all
}

// A definition is a type in the published schema.
type definition struct {
	Kinds      []schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
	Properties map[string]struct {
		Ref string `json:"$ref"`
	} `json:"properties"`
}

func (d definition) members(all map[string]definition, depth int) []string {
	var paths []string
	for name, p := range d.Properties { // sorted later
		paths = append(paths, name)
		if depth > 1 && p.Ref != "" {
			for _, below := range all[strings.TrimPrefix(p.Ref, "#/definitions/")].members(all, depth-1) {
				paths = append(paths, name+"."+below)
			}
		}
	}
	return paths
}
