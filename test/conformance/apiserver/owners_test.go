package apiserver

import "strings"

// owners are server-side applies of several managers.
func owners() []request {
	const (
		apply, merge = "apply-patch+yaml", "merge-patch+json"
		maps         = "/api/v1/namespaces/{ns}/configmaps"
		deployments  = "/apis/apps/v1/namespaces/{ns}/deployments"
	)
	data := func(name, manager, data string) request {
		return patch(apply, maps+"/"+name+"?fieldManager="+manager, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"`+name+`"},"data":`+data+`}`)
	}
	deployment := func(manager, rest, containers string) request {
		return patch(apply, deployments+"/web?fieldManager="+manager, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{`+rest+
			`"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":`+containers+`}}}}`)
	}
	with := func(r request, more string) request { r.path += more; return r }
	container := func(name, image string) string { return `{"name":"` + name + `","image":"` + image + `"}` }
	return []request{
		data("a", "one", `{"x":"1","u":"1"}`), data("a", "one", `{"x":"1","u":"1"}`), data("a", "two", `{"x":"1","z":"2"}`),
		data("a", "two", `{"x":"3","z":"3"}`), data("a", "two", `{"x":"3","u":"3"}`), data("a", "three", `{"x":"3","u":"3","z":"3"}`),
		with(data("a", "two", `{"x":"3","z":"3"}`), "&dryRun=All"), with(data("a", "two", `{"x":"3","z":"3"}`), "&force=false"), with(data("a", "two", `{"x":"3","z":"3"}`), "&force=true"), get(maps + "/a"),
		data("a", "two", `{"x":"3"}`), data("a", "one", `{}`), get(maps + "/a"), data("a", "two", `{}`), get(maps + "/a"),
		data("b", "one", `{"x":"1","u":"1"}`), patch(merge, maps+"/b?fieldManager=edit", `{"data":{"x":"2","z":"2"}}`), data("b", "one", `{"x":"1","u":"1"}`),
		data("b", "one", `{"u":"1"}`), get(maps + "/b"), patch(merge, maps+"/b?fieldManager=edit", `{"data":{"u":null}}`), data("b", "two", `{"u":"5"}`), get(maps + "/b"),
		patch(merge, maps+"/b?fieldManager=edit", `{"metadata":{"labels":{"l":"1"},"finalizers":["example.com/f"]}}`),
		patch(apply, maps+"/b?fieldManager=two", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b","labels":{"l":"2"},"finalizers":["example.com/g"]}}`),
		patch(apply, maps+"/b?fieldManager=two", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b","managedFields":[{"manager":"x"}]}}`),
		patch(apply, maps+"/c/status?fieldManager=two", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}`),

		deployment("one", `"replicas":1,`, "["+container("a", "x")+"]"), deployment("two", "", "["+container("b", "x")+"]"),
		deployment("two", `"replicas":2,`, "["+container("a", "z")+","+container("b", "z")+"]"), deployment("three", "", "["+container("b", "y")+"]"),
		patch(apply, deployments+"/web/status?fieldManager=two", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"status":{"observedGeneration":1}}`),
		patch(apply, deployments+"/web/status?fieldManager=three", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"status":{"observedGeneration":2}}`),
		patch(apply, deployments+"/none/status?fieldManager=three", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"none"},"status":{"observedGeneration":2}}`),
		patch(merge, deployments+"/web?fieldManager="+strings.Repeat("e", 20), `{"spec":{"replicas":5}}`), deployment("one", `"replicas":1,`, "["+container("a", "x")+"]"),
	}
}
