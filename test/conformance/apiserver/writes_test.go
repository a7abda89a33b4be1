package apiserver

import "strings"

// writes are creations and updates.
func writes(k kind) []request {
	p, o := k.path(""), k.object
	r := []request{
		post(p, o("a")).as("a"), post(p, o("a")), post(p, o("A b")), post(p, o("a_b")), post(p, o("-a")), post(p, o(strings.Repeat("x", 254))), post(p, o("x/y")), post(p, o("..")),
		post(p, o("")), post(p, strings.Replace(o("x"), `"name":"x"`, "", 1)), post(p, o("", `"generateName":"gen-"`)), post(p, o("", `"generateName":"Gen_"`)),
		post(p, o("other", `"namespace":"other"`)), post(p, o("ver", `"resourceVersion":"7"`)), post(p, o("ver0", `"resourceVersion":"0"`)),
		post(p, o("own", `"uid":"my-own","creationTimestamp":"1999-01-01T00:00:00Z","deletionTimestamp":"1999-01-01T00:00:00Z","generation":7,"selfLink":"x"`)),
		post(p, o("l1", `"labels":{"a b":"c"}`)), post(p, o("l2", `"labels":{"a":"b c"}`)), post(p, o("l3", `"labels":{"a":"`+strings.Repeat("x", 64)+`"}`)),
		post(p, o("an1", `"annotations":{"a b":"c"}`)), post(p, o("an2", `"annotations":{"ok":"anything at all"}`)), post(p, o("f1", `"finalizers":["nope"]`)),
		post(p, o("f2", `"finalizers":["a b/c"]`)), post(p, o("f3", `"finalizers":["example.com/x"]`)), post(p, o("or", `"ownerReferences":[{"name":"x"}]`)),
		post(p, o("many", `"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"x","uid":"u"}]`)),
		post(p, ``), post(p, `[`), post(p, `{}`), post(p, `"x"`), post(p, `null`), post(p, `{"kind":"Nope","apiVersion":"v9"}`), post(p, `{"kind":"Nope"}`),
		post(p, o("x")+"{}"), post(p, o("yaml"), "Content-Type: application/yaml"), post(p, o("text"), "Content-Type: text/plain"), post(p, o("noct"), "Content-Type: "),
		post(p, "metadata: [", "Content-Type: application/yaml"), post(p, o("x"), "Content-Type: nonsense/"),
		post(p+"?dryRun=All", o("dry")), get(k.path("dry")), post(p+"?dryRun=yes", o("dry")), post(p+"?dryRun=All&dryRun=All", o("dry")), post(p+"?dryRun=", o("dryempty")),
		post(p+"?fieldValidation=Strict", o("fv1")), post(p+"?fieldValidation=Warn", o("fv2")), post(p+"?fieldValidation=Ignore", o("fv3")), post(p+"?fieldValidation=x", o("fv4")),
		post(p+"?fieldManager=me", o("fm")), post(p+"?fieldManager="+strings.Repeat("x", 129), o("fm2")),
		post(k.root+"/"+k.plural, o("nowhere")), post(k.path("a"), o("a")), post(k.root+"/namespaces/none/"+k.plural, o("homeless")),
		post(p, o("st", `"labels":{"a":"b"}`)+`{"status":{}}`),

		put(k.path("a"), k.with(k.changed, "a", `"resourceVersion":"{a.rv}"`)).as("a2"), put(k.path("a"), k.with(k.changed, "a", `"resourceVersion":"{a.rv}"`)),
		put(k.path("a"), k.with(k.changed, "a", `"resourceVersion":"{a2.rv}"`)), // nothing changes
		put(k.path("a"), o("a")), put(k.path("a"), o("a", `"resourceVersion":"0"`)), put(k.path("a"), o("a", `"resourceVersion":"x"`)), put(k.path("a"), o("a", `"uid":"x"`)),
		put(k.path("a"), o("b")), put(k.path("a"), o("a", `"namespace":"other"`)), put(k.path("a"), strings.Replace(o("x"), `"name":"x"`, "", 1)), put(p, o("a")),
		put(k.path("none"), o("none")), put(k.path("none2"), o("none2", `"resourceVersion":"1"`)), put(k.path("none3"), o("none3", `"uid":"x"`)),
		put(k.path("a")+"?dryRun=All", k.with(k.changed, "a")), get(k.path("a")), put(k.path("a")+"?dryRun=yes", o("a")), put(k.path("a")+"?fieldValidation=x", o("a")),
		put(k.path("a"), `{}`), put(k.path("a"), `[`), put(k.path("a"), ``), put(k.path("a"), `{"kind":"Nope","apiVersion":"v9","metadata":{"name":"a"}}`),
		put(k.path("a"), o("a", `"labels":{"a b":"c"}`)), put(k.path("a"), o("a", `"finalizers":["nope"]`)), put(k.path("a"), o("a", `"creationTimestamp":"1999-01-01T00:00:00Z"`)),
		put(k.path("a"), o("a", `"deletionTimestamp":"1999-01-01T00:00:00Z"`)), put(k.path("a"), o("a", `"generation":77`)),

		put(k.path("a/status"), o("a", `"labels":{"by":"status"}`)), get(k.path("a")), put(k.path("a/status"), o("b")), put(k.path("none/status"), o("none")), put(k.path("a/none"), o("a")),
		get(k.path("a/status")), post(k.path("a/status"), o("a")), del(k.path("a/status"), ``),
		get(k.path("a") + "?afterwards=1"),
		{method: "OPTIONS", path: p},
		{method: "PURGE", path: p},
		{method: "PATCH", path: p, body: `{}`},
	}
	return r
}

// deletes are deletions of one and of many, with options in the query and in the body.
func deletes(k kind) []request {
	var r []request
	// one makes an object, deletes it, and looks what is left.
	n := 0
	one := func(query, body string, metadata ...string) {
		n++
		name := "d" + strings.Repeat("i", n)
		r = append(r, post(k.path(""), k.object(name, metadata...)).as("d"), del(k.path(name)+query, body), get(k.path(name)))
	}
	one("", "")
	one("", "{}")
	one("", `{"kind":"DeleteOptions","apiVersion":"v1"}`)
	one("?dryRun=All", "")
	one("", `{"dryRun":["All"]}`)
	one("", `{"dryRun":["yes"]}`)
	one("?dryRun=yes", "")
	one("", `{"gracePeriodSeconds":0}`)
	one("?gracePeriodSeconds=0", "")
	one("", `{"gracePeriodSeconds":7}`)
	one("", `{"gracePeriodSeconds":-1}`)
	one("?gracePeriodSeconds=x", "")
	one("?propagationPolicy=Background", "")
	one("?propagationPolicy=Foreground", "")
	one("", `{"propagationPolicy":"Foreground"}`)
	one("", `{"propagationPolicy":"Orphan"}`)
	one("", `{"propagationPolicy":"Background"}`)
	one("", `{"propagationPolicy":"Nope"}`)
	one("?propagationPolicy=Nope", "")
	one("", `{"orphanDependents":true}`)
	one("", `{"orphanDependents":false}`)
	one("", `{"orphanDependents":true,"propagationPolicy":"Orphan"}`)
	one("", `{"preconditions":{"uid":"x"}}`)
	one("", `{"preconditions":{"uid":"{d.uid}"}}`)
	one("", `{"preconditions":{"resourceVersion":"1"}}`)
	one("", `{"preconditions":{"resourceVersion":"{d.rv}"}}`)
	one("", `[`)
	one("", `{"kind":"Nope","apiVersion":"v1"}`)
	one("", "", `"finalizers":["example.com/x"]`)
	one("", `{"propagationPolicy":"Foreground"}`, `"finalizers":["example.com/x"]`)
	r = append(r, del(k.path("none"), ""), del(k.path("none"), `{"dryRun":["All"]}`),

		// A finalizer keeps an object until it is taken away; none is added meanwhile.
		post(k.path(""), k.object("fin", `"finalizers":["example.com/x"]`)).as("f"), del(k.path("fin"), ""), del(k.path("fin"), ""),
		patch("merge-patch+json", k.path("fin"), `{"metadata":{"finalizers":["example.com/x","example.com/y"]}}`),
		patch("merge-patch+json", k.path("fin"), `{"metadata":{"labels":{"a":"b"}}}`),
		patch("merge-patch+json", k.path("fin"), `{"metadata":{"finalizers":null}}`), get(k.path("fin")),
		post(k.path(""), k.object("fin")), post(k.path(""), k.object("fin")),

		// Collections.
		post(k.path(""), k.object("c1", `"labels":{"c":"1"}`)), post(k.path(""), k.object("c2", `"labels":{"c":"1"}`)), post(k.path(""), k.object("c3", `"labels":{"c":"2"}`)),
		del(k.path("")+"?labelSelector=c%3D1&dryRun=All", ""), del(k.path("")+"?labelSelector=c%3D1", `{"dryRun":["All"]}`), get(k.path("")+"?labelSelector=c"),
		del(k.path("")+"?labelSelector=c%3D1", `{"preconditions":{"uid":"x"}}`), get(k.path("")+"?labelSelector=c"),
		del(k.path("")+"?labelSelector=c%3D1&limit=1", `{"gracePeriodSeconds":0}`), get(k.path("")+"?labelSelector=c"),
		del(k.path("")+"?fieldSelector=metadata.name%3Dc3", `{"gracePeriodSeconds":0}`), get(k.path("")+"?labelSelector=c"),
		del(k.path("")+"?labelSelector=!!", ""), del(k.path("")+"?fieldSelector=spec.none%3D1", ""), del(k.path("")+"?limit=x", ""), del(k.path(""), `{"propagationPolicy":"Nope"}`),
		del(k.path(""), `[`), del(k.root+"/"+k.plural, ""), del(k.root+"/"+k.plural+"/c1", ""),
		del(k.path(""), `{"gracePeriodSeconds":0}`), get(k.path("")+"?labelSelector=c"))
	return r
}

// patches are patches of each kind.
func patches(k kind) []request {
	const merge, jsonPatch, strategic, apply = "merge-patch+json", "json-patch+json", "strategic-merge-patch+json", "apply-patch+yaml"
	a := k.path("a")
	r := []request{post(k.path(""), k.object("a", `"labels":{"x":"1"}`)).as("a")}
	for _, body := range []string{
		`{"metadata":{"labels":{"y":"2"}}}`, `{"metadata":{"labels":{"y":"2"}}}`, `{"metadata":{"labels":null}}`, `{"metadata":{"annotations":{"a":"b"}}}`, `{"metadata":{"name":"b"}}`,
		`{"metadata":{"namespace":"other"}}`, `{"metadata":{"uid":"x"}}`, `{"metadata":{"resourceVersion":"1"}}`, `{"metadata":{"resourceVersion":"{a.rv}"}}`,
		`{"metadata":{"generation":9}}`, `{"metadata":{"creationTimestamp":null}}`, `{"kind":"Nope"}`, `{"apiVersion":"v9"}`, `{}`, `[`, `[]`, `null`, `"x"`, ``,
		`{"metadata":{"labels":{"a b":"c"}}}`, `{"metadata":{"finalizers":["nope"]}}`, `{"metadata":null}`, `{"metadata":{"deletionTimestamp":"1999-01-01T00:00:00Z"}}`,
		`{"status":{"phase":"Running"}}`, `{"metadata":{"labels":{"n":5}}}`,
	} {
		r = append(r, patch(merge, a, body), patch(strategic, a, body))
	}
	for _, body := range []string{
		`[{"op":"add","path":"/metadata/labels","value":{"j":"1"}}]`, `[{"op":"replace","path":"/metadata/labels/j","value":"2"}]`, `[{"op":"test","path":"/metadata/labels/j","value":"3"}]`,
		`[{"op":"remove","path":"/metadata/labels/none"}]`, `[{"op":"remove","path":"/metadata/labels/j"}]`, `[{"op":"dance","path":"/metadata"}]`, `{}`, `[`, `[]`,
		`[{"op":"replace","path":"/metadata/name","value":"b"}]`, `[{"op":"replace","path":"/kind","value":"Nope"}]`, `[{"op":"add","path":"/metadata/labels","value":{"a b":"c"}}]`,
		`[{"op":"move","from":"/metadata/none","path":"/metadata/labels"}]`, `[{"op":"copy","from":"/metadata/name","path":"/metadata/labels/copied"}]`,
	} {
		r = append(r, patch(jsonPatch, a, body))
	}
	for _, query := range []string{"?dryRun=All", "?dryRun=yes", "?fieldValidation=x", "?force=true", "?fieldManager=me"} {
		r = append(r, patch(merge, a+query, `{"metadata":{"labels":{"q":"1"}}}`))
	}
	return append(r, patch(merge, k.path("none"), `{}`), patch(jsonPatch, k.path("none"), `[]`), patch("x-patch", a, `{}`), patch("json", a, `{}`),
		patch(apply, a+"?fieldManager=me&force=true", k.object("a", `"labels":{"applied":"1"}`)), patch(apply, a, k.object("a")),
		patch(apply, k.path("new")+"?fieldManager=me", k.object("new")), patch(apply, k.path("new")+"?fieldManager=me", k.object("new")),
		patch(apply, k.path("new")+"?fieldManager=me", k.object("other")), patch(apply, k.path("new")+"?fieldManager=me", `[`), patch(apply, k.path("new")+"?fieldManager=me", `{"metadata":{"name":"new"}}`),
		patch(merge, k.path("a/status"), `{"metadata":{"labels":{"st":"1"}}}`), patch(merge, k.path("a/none"), `{}`), get(a))
}
