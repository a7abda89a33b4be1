package apiserver

import (
	"fmt"
	"strings"
)

// A kind is a type that the sections are played with.
type kind struct {
	plural     string
	apiVersion string
	kind       string
	root       string // path of its group and version
	rest       string // what an object must have beside metadata
	changed    string // the same with something changed
}

var kinds = []kind{
	{plural: "configmaps", apiVersion: "v1", kind: "ConfigMap", root: "/api/v1", rest: `"data":{"v":"1"}`, changed: `"data":{"v":"2"}`},
	{plural: "secrets", apiVersion: "v1", kind: "Secret", root: "/api/v1", rest: `"data":{"v":"MQ=="},"type":"Opaque"`, changed: `"data":{"v":"Mg=="},"type":"Opaque"`},
	{
		plural: "pods", apiVersion: "v1", kind: "Pod", root: "/api/v1",
		rest: `"spec":{"terminationGracePeriodSeconds":30,"containers":[{"name":"c","image":"i:1"}]}`, changed: `"spec":{"terminationGracePeriodSeconds":30,"containers":[{"name":"c","image":"i:2"}]}`,
	},
	{
		plural: "services", apiVersion: "v1", kind: "Service", root: "/api/v1",
		rest: `"spec":{"clusterIP":"None","selector":{"a":"b"}}`, changed: `"spec":{"clusterIP":"None","selector":{"a":"c"}}`,
	},
	{
		plural: "leases", apiVersion: "coordination.k8s.io/v1", kind: "Lease", root: "/apis/coordination.k8s.io/v1",
		rest: `"spec":{"holderIdentity":"1"}`, changed: `"spec":{"holderIdentity":"2"}`,
	},
	{
		plural: "deployments", apiVersion: "apps/v1", kind: "Deployment", root: "/apis/apps/v1",
		rest:    `"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i:1"}]}}}`,
		changed: `"spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i:1"}]}}}`,
	},
	{plural: "widgets", apiVersion: "example.com/v1", kind: "Widget", root: "/apis/example.com/v1", rest: `"spec":{"v":1}`, changed: `"spec":{"v":2}`},
}

func (k kind) path(name string) string {
	p := k.root + "/namespaces/{ns}/" + k.plural
	if name != "" {
		p += "/" + name
	}
	return p
}

// object returns an object with more metadata than its name, as members of JSON.
func (k kind) object(name string, metadata ...string) string {
	return k.with(k.rest, name, metadata...)
}

func (k kind) with(rest, name string, metadata ...string) string {
	meta := append([]string{fmt.Sprintf(`"name":%q`, name)}, metadata...)
	return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{%s},%s}`, k.apiVersion, k.kind, strings.Join(meta, ","), rest)
}

func sections() []section {
	var all []section
	for _, k := range kinds {
		all = append(all,
			section{"reads of " + k.plural, reads(k)},
			section{"watches of " + k.plural, watches(k)},
			section{"writes of " + k.plural, writes(k)},
			section{"deletes of " + k.plural, deletes(k)},
			section{"patches of " + k.plural, patches(k)},
		)
	}
	for _, i := range []int{0, 2, 6} {
		all = append(all, section{"past of " + kinds[i].plural, past(kinds[i])})
	}
	return append(all,
		section{"many objects", manyObjects()},
		section{"accept", accepts()}, section{"discovery", descriptions()}, section{"namespaces", namespaces()},
		section{"special rules", specialRules()}, section{"ports", ports()}, section{"events", events()}, section{"owners", owners()},
		section{"field selectors", fieldSelectors()},
	)
}

// reads are lists and gets in all combinations that have rules of their own.
func reads(k kind) []request {
	r := []request{
		post(k.path(""), k.object("a", `"labels":{"s":"{ns}","tier":"front"}`)).as("a"),
		post(k.path(""), k.object("b", `"labels":{"s":"{ns}"}`)).as("b"),
		post(k.path(""), k.object("c", `"labels":{"s":"{ns}","tier":"back"}`)).as("c"),
		put(k.path("a"), k.with(k.changed, "a", `"labels":{"s":"{ns}","tier":"front"}`)).as("a2"),
	}
	for _, limit := range []string{"", "&limit=1", "&limit=2", "&limit=10"} {
		for _, query := range []string{
			"", "&resourceVersion=0", "&resourceVersion={a.rv}", "&resourceVersion={a2.rv}", "&resourceVersion={b.rv}&resourceVersionMatch=Exact",
			"&resourceVersion={b.rv}&resourceVersionMatch=NotOlderThan", "&resourceVersion=0&resourceVersionMatch=NotOlderThan",
		} {
			r = append(r, get(k.path("")+"?x=y"+limit+query))
		}
	}
	r = append(r, get(k.path("")+"?limit=2").as("page"), get(k.path("")+"?limit=2&continue={page.continue}"),
		get(k.path("")+"?continue={page.continue}&resourceVersion=0&limit=2"), get(k.path("")+"?continue={page.continue}&resourceVersion={a.rv}"))
	r = append(r, get(k.path("")+"?limit=1").as("first"), get(k.path("")+"?continue={first.continue}&resourceVersion=0&limit=1"))
	for _, query := range []string{
		"labelSelector=tier", "labelSelector=!tier", "labelSelector=tier%3Dfront", "labelSelector=tier!%3Dfront", "labelSelector=tier+in+(front,back)",
		"labelSelector=tier&limit=1", "fieldSelector=metadata.name%3Da", "fieldSelector=metadata.name%3Da&limit=1", "fieldSelector=metadata.name!%3Da",
		"fieldSelector=metadata.name!%3Da&limit=1", "fieldSelector=metadata.namespace%3D{ns}", "fieldSelector=metadata.name%3Dnone",
		"fieldSelector=spec.none%3Da", "labelSelector=!!", "fieldSelector=a", "limit=x", "limit=-1", "resourceVersion=x", "resourceVersionMatch=Exact",
		"resourceVersion=0&resourceVersionMatch=Exact", "resourceVersion=1&resourceVersionMatch=x", "continue=x", "sendInitialEvents=true",
		"resourceVersion=99999999999&resourceVersionMatch=Exact", "timeoutSeconds=x", "allowWatchBookmarks=x", "watch=0", "watch=false", "pretty=true",
	} {
		r = append(r, get(k.path("")+"?"+query))
	}
	r = append(r, get(k.path("")+"?resourceVersion=99999999999"))
	for _, query := range []string{
		"labelSelector=s%3D{ns}", "labelSelector=s%3D{ns}&limit=2", "labelSelector=s%3D{ns}&fieldSelector=metadata.name%3Da,metadata.namespace%3D{ns}&limit=2",
		"fieldSelector=metadata.name%3Da,metadata.namespace%3D{ns}&limit=2",
	} {
		r = append(r, get(k.root+"/"+k.plural+"?"+query))
	}
	return append(r, get(k.path("a")), get(k.path("none")), get(k.path("a")+"?resourceVersion=0"), get(k.path("a")+"?resourceVersion={a2.rv}"),
		get(k.path("a")+"?resourceVersion=x"), get(k.path("a")+"?watch=1"), get(k.path("a/none")), get(k.path("a/status")),
		get(k.path("a")+"?resourceVersion=99999999999"), request{method: "HEAD", path: k.path("a")})
}

// watches last a second each.
func watches(k kind) []request {
	r := []request{
		post(k.path(""), k.object("a", `"labels":{"s":"{ns}","tier":"front"}`)).as("a"),
		post(k.path(""), k.object("b")).as("b"),
		put(k.path("a"), k.with(k.changed, "a", `"labels":{"tier":"back"}`)).as("a2"),
		del(k.path("b"), `{"gracePeriodSeconds":0}`),
		get(k.path("")).as("last"), // the watch cache is up to date then
	}
	for _, query := range []string{
		"", "&resourceVersion=0", "&resourceVersion={a.rv}", "&resourceVersion={b.rv}", "&resourceVersion={a.rv}&labelSelector=tier%3Dfront",
		"&resourceVersion={a.rv}&labelSelector=tier%3Dback", "&resourceVersion={a.rv}&fieldSelector=metadata.name%3Da", "&resourceVersion=x",
		"&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", "&sendInitialEvents=true", "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
		"&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion={last.rv}",
		"&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion={a.rv}", "&resourceVersionMatch=Exact&resourceVersion={a.rv}", "&limit=1", "&continue=x",
	} {
		r = append(r, get(k.path("")+"?watch=1&timeoutSeconds=1"+query))
	}
	return r
}
