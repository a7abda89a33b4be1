package apiserver

import "fmt"

// past are lists of states of the past, pages while objects change, and watches of objects that
// enter and leave what a watch selects.
func past(k kind) []request {
	labeled := func(name, tier string) string { return k.object(name, `"labels":{"s":"{ns}","tier":"`+tier+`"}`) }
	changed := func(name, version, tier string) string {
		return k.with(k.changed, name, `"resourceVersion":"{`+version+`}"`, `"labels":{"s":"{ns}","tier":"`+tier+`"}`)
	}
	beside := func(suffix string) string { return k.root + "/namespaces/{ns}" + suffix + "/" + k.plural }
	r := []request{
		post("/api/v1/namespaces", `{"metadata":{"name":"{ns}-x"}}`), post("/api/v1/namespaces", `{"metadata":{"name":"{ns}0"}}`),
		post(beside("-x"), k.object("a")), post(beside("0"), k.object("a")), // the keys before and after those of the namespace
		post(k.path(""), labeled("a", "front")).as("a"),
		post(k.path(""), k.object("b")).as("b"),
		post(k.path(""), labeled("c", "back")).as("c"),
		post(k.path(""), labeled("d", "front")).as("d"),
		post(k.path(""), labeled("z", "front")).as("z"),
		get(k.path("") + "?limit=2").as("page"),
		get(k.path("") + "?limit=1&labelSelector=tier%3Dfront").as("front"),
		put(k.path("c"), changed("c", "c.rv", "front")).as("c2"),
		del(k.path("b"), `{"gracePeriodSeconds":0}`),
		post(k.path(""), labeled("e", "back")).as("e"),
		put(k.path("a"), changed("a", "a.rv", "back")).as("a2"),
		put(k.path("a"), changed("a", "a2.rv", "front")).as("a3"),
		del(k.path("z"), `{"gracePeriodSeconds":0}`),
		put(k.path("a"), changed("a", "a3.rv", "gone")).as("a4"),
		get(k.path("")).as("last"),
	}
	for _, version := range []string{"{a.rv}", "{b.rv}", "{z.rv}", "{c2.rv}", "{e.rv}", "{a2.rv}", "{a3.rv}", "{a4.rv}"} {
		at := k.path("") + "?resourceVersion=" + version
		r = append(r, get(at+"&resourceVersionMatch=Exact"), get(at+"&limit=1"), get(at+"&resourceVersionMatch=Exact&labelSelector=tier%3Dfront&limit=1"),
			get(at+"&resourceVersionMatch=Exact&fieldSelector=metadata.name%3Da"))
	}
	future := k.path("") + "?resourceVersion=99999999999&resourceVersionMatch=Exact"
	r = append(r, get(future+"&limit=1"), get(future+"&fieldSelector=metadata.name%3Da"), get(k.path("")+"?resourceVersion=0&limit=1"),
		get(k.path("")+"?limit=1&continue={page.continue}").as("page2"), get(k.path("")+"?limit=1&continue={page2.continue}"), get(k.path("")+"?continue={page.continue}"),
		get(k.path("")+"?limit=1&labelSelector=tier%3Dfront&continue={front.continue}").as("front2"), get(k.path("")+"?labelSelector=tier%3Dfront&continue={front2.continue}"))
	for _, watch := range []string{
		"", "&labelSelector=tier%3Dfront", "&labelSelector=tier!%3Dfront", "&fieldSelector=metadata.name%3Dz",
	} {
		r = append(r, get(k.path("")+"?watch=1&timeoutSeconds=1&resourceVersion={d.rv}"+watch))
	}
	return append(r, get(k.path("")+"?watch=1&timeoutSeconds=1&resourceVersion={a3.rv}"),
		get(k.path("")+"?watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&labelSelector=tier%3Dfront"),
		get(k.root+"/"+k.plural+"?labelSelector=s%3D{ns}"), get(beside("0")+"?limit=1"), get(beside("-x")+"?resourceVersion=0"))
}

// manyObjects has as many objects as need several nodes of a tree, created and deleted out of
// order, and lists all of them.
func manyObjects() []request {
	const path, count = "/api/v1/namespaces/{ns}/configmaps", 150
	var r []request
	for i := range count {
		r = append(r, post(path, fmt.Sprintf(`{"metadata":{"name":"n%03d","labels":{"third":"%v"}}}`, i*77%count, i%3 == 0)))
	}
	r = append(r, get(path).as("full"), get(path+"?limit=70").as("page"))
	for i := range count {
		if i%5 != 0 {
			r = append(r, del(fmt.Sprintf("%s/n%03d", path, i*47%count), ""))
		}
	}
	return append(r, get(path), get(path+"?resourceVersion=0&labelSelector=third%3Dtrue"), get(path+"/n000"), get(path+"/n100"), get(path+"/n101"),
		get(path+"?resourceVersionMatch=Exact&resourceVersion={full.rv}"), get(path+"?limit=70&continue={page.continue}").as("page2"),
		get(path+"?continue={page2.continue}"), post(path, `{"metadata":{"name":"n000"}}`), get(path+"?limit=3"))
}
