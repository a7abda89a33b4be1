package apiserver

// accepts asks for other forms.
func accepts() []request {
	const path = "/api/v1/namespaces/{ns}/configmaps"
	r := []request{post(path, `{"metadata":{"name":"a"},"data":{"v":"1"}}`)}
	r = append(r, post(path, `{"metadata":{"name":"b"},"data":{"v":"1"}}`))
	for _, accept := range []string{
		"application/json", "*/*", "application/*", "text/html", "text/*", "nonsense", "application/xml, application/json",
		"application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf, application/json", "application/cbor", "application/cbor, application/json",
		"application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=Table;v=v1beta1;g=meta.k8s.io", "application/json;as=Table;v=v2;g=meta.k8s.io",
		"application/json;as=Table;v=v1;g=meta.k8s.io, application/json", "application/json;as=Nope;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
		"application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
		"application/json;charset=utf-8", "application/json;stream=watch", "application/json;pretty=1",
	} {
		accept := "Accept: " + accept
		r = append(r, get(path, accept), get(path+"/a", accept), get(path+"?watch=1&timeoutSeconds=1", accept), get(path+"/none", accept), post(path, `{"metadata":{"name":"a"}}`, accept))
	}
	return append(r, get(path+"?includeObject=Object", "Accept: application/json;as=Table;v=v1;g=meta.k8s.io"),
		get(path+"?includeObject=None", "Accept: application/json;as=Table;v=v1;g=meta.k8s.io"), get(path+"?includeObject=x", "Accept: application/json;as=Table;v=v1;g=meta.k8s.io"))
}

// descriptions are what describes the server, and paths that there are none of.
func descriptions() []request {
	var r []request
	for _, path := range []string{
		"/api", "/api/", "/apis", "/apis/", "/api/v1", "/api/v1/", "/api/v2", "/apis/apps", "/apis/apps/", "/apis/apps/v1", "/apis/apps/v9", "/apis/nope", "/apis/nope/v1", "/apis/batch/v1",
		"/apis/example.com", "/apis/example.com/v1", "/apis/example.com/v9", "/apis/coordination.k8s.io/v1", "/apis/rbac.authorization.k8s.io/v1", "/nonsense", "/healthz", "/livez", "/readyz",
		"/api/v1/nope", "/api/v1/namespaces/{ns}/nope", "/api/v1/namespaces/{ns}/nope/x", "/apis/apps/v1/nope", "/apis/apps/v9/deployments", "/apis/nope/v1/x", "/apis/example.com/v1/nope",
		"/apis/example.com/v9/widgets", "/api/v9/pods", "/api/v1/namespaces/{ns}/nodes", "/api/v1/namespaces/{ns}/configmaps/a/b/c", "/api/v1/configmaps/a", "/api/v1/pods/a",
		"/apis/example.com/v1/widgets/a", "/api/v1/namespaces/{ns}/pods/none/log",
	} {
		r = append(r, get(path))
	}
	const aggregated = "Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	return append(r, get("/api", aggregated), get("/apis", aggregated), get("/api", aggregated+", application/json"),
		get("/apis", "Accept: text/html"), get("/api/v1", "Accept: application/vnd.kubernetes.protobuf"), post("/api/v1", `{}`), del("/api", ``), del("/healthz", ""),
		get("/api/v1/configmaps", "Authorization: Bearer nope"), get("/api/v1", "Authorization: Bearer nope"))
}

// namespaces are objects without a namespace.
func namespaces() []request {
	const path, name = "/api/v1/namespaces", "/api/v1/namespaces/{ns}x"
	return []request{
		post(path, `{"metadata":{"name":"{ns}x"}}`).as("x"), post(path, `{"metadata":{"name":"{ns}x"}}`), post(path, `{"metadata":{"name":"Bad_"}}`), post(path, `{"metadata":{"name":"a.b"}}`),
		get(name), get(name + "/status"), get(name + "/finalize"), get(path + "?fieldSelector=metadata.name%3D{ns}x"), get(path + "?fieldSelector=metadata.name%3D{ns}x,status.phase%3DActive"),
		get(path + "?fieldSelector=metadata.namespace%3Dx"), put(name, `{"metadata":{"name":"{ns}x","labels":{"a":"b"}}}`), put(name, `{"metadata":{"name":"{ns}x","namespace":"other"}}`),
		patch("merge-patch+json", name, `{"metadata":{"labels":{"c":"d"}}}`), patch("merge-patch+json", name+"/status", `{"metadata":{"labels":{"e":"f"}}}`), del(path, ``),
		del(path+"?labelSelector=none", ``), del(name+"?dryRun=All", ``), del(name, ``), get(name + "?gone"), del(name+"?gone", ``), post(path+"?gone", `{"metadata":{"name":"{ns}x"}}`),
		post("/api/v1/namespaces/{ns}x/configmaps", `{"metadata":{"name":"a"}}`), post(path, `{"metadata":{"name":"{ns}y","namespace":"other"}}`),
		post(path, `{"metadata":{"generateName":"{ns}-"}}`),
	}
}

// specialRules are those that one type has.
func specialRules() []request {
	const ns = "/api/v1/namespaces/{ns}"
	pod := func(name, spec string) string {
		return `{"metadata":{"name":"` + name + `"},"spec":{` + spec + `"containers":[{"name":"c","image":"i"}]},"status":{"phase":"Running","podIPs":[{"ip":"1.2.3.4"}]}}`
	}
	return []request{
		post(ns+"/secrets", `{"metadata":{"name":"s"},"data":{"b":"Yg=="},"stringData":{"a":"text","b":"other"}}`), get(ns + "/secrets/s"),
		put(ns+"/secrets/s", `{"metadata":{"name":"s"},"stringData":{"a":"changed"}}`), put(ns+"/secrets/s", `{"metadata":{"name":"s"},"type":"other"}`),
		patch("merge-patch+json", ns+"/secrets/s", `{"stringData":{"c":"patched"}}`), post(ns+"/secrets", `{"metadata":{"name":"t"},"data":{"b":"not base64"}}`),
		post(ns+"/configmaps", `{"metadata":{"name":"im"},"immutable":true,"data":{"a":"b"}}`), put(ns+"/configmaps/im", `{"metadata":{"name":"im"},"immutable":true,"data":{"a":"c"}}`),
		post(ns+"/configmaps", `{"metadata":{"name":"k"},"data":{"bad key":"b"}}`), post(ns+"/configmaps", `{"metadata":{"name":"k"},"data":{"n":5}}`),
		post(ns+"/pods", pod("p", `"nodeName":"n",`)), get(ns + "/pods/p"), get(ns + "/pods?fieldSelector=status.phase%3DRunning"), get(ns + "/pods?fieldSelector=status.phase%3DPending"),
		get(ns + "/pods?fieldSelector=status.podIPs%3D1.2.3.4"), get(ns + "/pods?fieldSelector=spec.nodeName%3Dn"), get(ns + "/pods?fieldSelector=spec.nodeName%3D"),
		put(ns+"/pods/p/status", pod("p", `"nodeName":"n",`)), get(ns + "/pods?fieldSelector=status.phase%3DRunning"), get(ns + "/pods/p/status"),
		del(ns+"/pods/p", ``), get(ns + "/pods/p"), del(ns+"/pods/p", `{"gracePeriodSeconds":5}`), del(ns+"/pods/p", `{"gracePeriodSeconds":0}`), get(ns + "/pods/p"),
		post(ns+"/pods", pod("q", ``)), del(ns+"/pods/q", ``), get(ns + "/pods/q"),
		post(ns+"/pods", `{"metadata":{"name":"r"},"spec":{"containers":[]}}`), post(ns+"/pods", `{"metadata":{"name":"r"}}`),
		post("/apis/apps/v1/namespaces/{ns}/deployments", kinds[5].object("web")),
		post(ns+"/endpoints", `{"metadata":{"name":"e"}}`), put(ns+"/endpoints/made", `{"metadata":{"name":"made"}}`),
		post("/api/v1/nodes", `{"metadata":{"name":"{ns}"}}`), get("/api/v1/nodes/{ns}"), patch("merge-patch+json", "/api/v1/nodes/{ns}", `{"spec":{"unschedulable":true}}`), del("/api/v1/nodes/{ns}", ``),
		post(ns+"/persistentvolumeclaims", `{"metadata":{"name":"pvc"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`),
		post("/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices", `{"metadata":{"name":"es"},"addressType":"IPv4","endpoints":[]}`),
		post("/apis/batch/v1/namespaces/{ns}/jobs", `{"metadata":{"name":"j"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}`),
		get("/apis/batch/v1/namespaces/{ns}/jobs?fieldSelector=status.successful%3D0"), del("/apis/batch/v1/namespaces/{ns}/jobs/j", ``),
		post("/apis/rbac.authorization.k8s.io/v1/clusterroles", `{"metadata":{"name":"{ns}:a,b=c"},"rules":[]}`),
		get("/apis/rbac.authorization.k8s.io/v1/clusterroles?limit=2&fieldSelector=metadata.name%3D{ns}:a%5C,b%5C%3Dc"),
		post(ns+"/events", `{"metadata":{"name":"ev"},"involvedObject":{"namespace":"{ns}","kind":"Pod","name":"p"},"reason":"r","type":"Normal"}`),
		get(ns + "/events?fieldSelector=involvedObject.name%3Dp"), get(ns + "/events?fieldSelector=reason%3Dr,type%3DNormal"),
	}
}

// ports are the defaults of the ports of a Service. What has become of a default stays as it is if
// the field that it came from changes.
func ports() []request {
	const path = "/api/v1/namespaces/{ns}/services"
	service := func(name, ports string) string {
		return `{"apiVersion":"v1","kind":"Service","metadata":{"name":"` + name + `"},"spec":{"clusterIP":"None","selector":{"a":"b"},"ports":` + ports + `}}`
	}
	return []request{
		post(path, service("a", `[{"name":"a","port":80},{"name":"b","port":53,"protocol":"UDP","targetPort":"dns"},{"name":"c","port":1,"targetPort":0},{"name":"d","port":2,"targetPort":""}]`)),
		get(path + "/a"), get(path),
		patch("json-patch+json", path+"/a", `[{"op":"replace","path":"/spec/ports/0/port","value":81}]`),
		patch("json-patch+json", path+"/a", `[{"op":"remove","path":"/spec/ports/0/targetPort"}]`),
		patch("merge-patch+json", path+"/a", `{"spec":{"ports":[{"port":82}]}}`), patch("merge-patch+json", path+"/a", `{"metadata":{"labels":{"a":"b"}}}`),
		put(path+"/a", service("a", `[{"port":83}]`)), put(path+"/a", service("a", `[{"port":84,"targetPort":83,"protocol":"TCP"}]`)), put(path+"/a", service("a", `null`)),
		put(path+"/made", service("made", `[{"port":80}]`)),
		patch("apply-patch+yaml", path+"/b?fieldManager=me", service("b", `[{"port":80}]`)), patch("apply-patch+yaml", path+"/b?fieldManager=me", service("b", `[{"port":80}]`)),
		patch("apply-patch+yaml", path+"/b?fieldManager=me", service("b", `[{"port":81}]`)), patch("apply-patch+yaml", path+"/b?fieldManager=you", service("b", `[{"port":81}]`)),
		patch("apply-patch+yaml", path+"/made?fieldManager=me", service("made", `[{"port":80}]`)),
	}
}

// events are written in one of their two groups and read in both.
func events() []request {
	const (
		core, events = "/api/v1/namespaces/{ns}/events", "/apis/events.k8s.io/v1/namespaces/{ns}/events"
		merge        = "merge-patch+json"
	)
	old := func(name, more string) string {
		return `{"metadata":{"name":"` + name + `"},"involvedObject":{"kind":"Pod","namespace":"{ns}","name":"p","fieldPath":"spec.containers{c}"},"reason":"Pulled",` +
			`"message":"as it was","type":"Normal"` + more + `}`
	}
	now := func(name, more string) string {
		return `{"metadata":{"name":"` + name + `"},"regarding":{"kind":"Pod","namespace":"{ns}","name":"q"},"reason":"Scheduled","note":"as it is","type":"Normal",` +
			`"action":"Binding","eventTime":"2024-01-02T03:04:05.000006Z","reportingController":"example.com/scheduler","reportingInstance":"s-1"` + more + `}`
	}
	r := []request{
		post(core, old("old", `,"source":{"component":"kubelet","host":"n"},"firstTimestamp":"2024-01-01T00:00:00Z","lastTimestamp":"2024-01-01T00:00:01Z","count":2`)).as("old"),
		post(core, old("new", `,"eventTime":"2024-01-02T03:04:05.000006Z","action":"a","reportingComponent":"example.com/kubelet","reportingInstance":"n","related":{"kind":"Node","name":"n"}`)),
		post(events, now("now", `,"series":{"count":2,"lastObservedTime":"2024-01-02T03:04:06.000006Z"}`)).as("now"),
		post(events, now("old", ``)), post(core, old("now", ``)), post(events, `{"apiVersion":"v1","kind":"Event","metadata":{"name":"x"}}`),
		patch(merge, events+"/now", `{"series":{"count":3,"lastObservedTime":"2024-01-02T03:04:07.000006Z"}}`).as("now2"),
		patch("strategic-merge-patch+json", core+"/old", `{"count":3,"message":"once more"}`), patch("json-patch+json", core+"/old", `[{"op":"replace","path":"/message","value":"again"}]`),
		patch("json-patch+json", events+"/now", `[{"op":"test","path":"/note","value":"as it is"},{"op":"replace","path":"/series/count","value":4}]`),
		patch(merge, events+"/now", `{"kind":"Nope"}`), patch(merge, events+"/none", `{}`),
		patch("apply-patch+yaml", core+"/applied?fieldManager=me", `{"apiVersion":"v1","kind":"Event",`+old("applied", "")[1:]),
		put(events+"/put", now("put", ``)), put(events+"/put", now("put", `,"series":{"count":2,"lastObservedTime":"2024-01-02T03:04:06.000006Z"}`)),
		put(core+"/put", old("none", ``)), post(events+"?dryRun=All", now("dry", ``)), get(core + "/dry"),
	}
	for _, path := range []string{core, events} {
		for _, name := range []string{"old", "new", "now", "put", "none"} {
			r = append(r, get(path+"/"+name), get(path+"/"+name+"?resourceVersion=0"))
		}
		for _, query := range []string{
			"", "?limit=2", "?fieldSelector=involvedObject.name%3Dp", "?fieldSelector=regarding.name%3Dp", "?fieldSelector=regarding.fieldPath%3Dspec.containers{c}", "?fieldSelector=reason%3DPulled,type%3DNormal",
			"?fieldSelector=reportingComponent%3Dexample.com/kubelet", "?fieldSelector=reportingController%3Dexample.com/kubelet", "?fieldSelector=source%3Dkubelet", "?fieldSelector=metadata.name%3Dold",
			"?fieldSelector=metadata.namespace%3D{ns}", "?fieldSelector=note%3Da",
			"?watch=1&timeoutSeconds=2&resourceVersion={old.rv}", "?watch=1&timeoutSeconds=2&resourceVersion={old.rv}&fieldSelector=reason%3DScheduled",
		} {
			r = append(r, get(path+query))
		}
		for _, accept := range []string{"application/vnd.kubernetes.protobuf", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"} {
			r = append(r, get(path+"/now", "Accept: "+accept))
		}
	}
	return append(r, get("/apis/events.k8s.io"), get("/apis/events.k8s.io/v1"), get("/apis/events.k8s.io/v1/events?fieldSelector=metadata.namespace%3D{ns}"),
		get("/apis/events.k8s.io/v1/namespaces/{ns}/pods"), get("/apis/events.k8s.io/v1beta1/namespaces/{ns}/events"),
		del(events+"/old", ``), get(core+"/old"), del(core+"/now", ``), get(events+"/now"), del(events+"/none", ``), del(events, ``), get(core))
}
