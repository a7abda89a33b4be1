package wire

import (
	"fmt"
	"testing"
)

func TestIdentity(t *testing.T) {
	const all = `"shop" "tea" "u1" "7"`
	for object, want := range map[string]string{
		`{"metadata":{"name":"tea","namespace":"shop","uid":"u1","resourceVersion":"7"}}`:                                                          all,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"tea","namespace":"shop","uid":"u1","resourceVersion":"7"},`:                           all,
		`{"spec":{"metadata":{"name":"no"}},"metadata":{"labels":{"name":"no"},"name":"tea","namespace":"shop","uid":"u1","resourceVersion":"7"}}`: all,
		`{"metadata":{"name":"tea","namespace":"shop","uid":"u1","resourceVersion":"7","managedFields":[`:                                          all,
		`{"metadata":{"name":"te\u0061","namespace":"shop","uid":"u1","resourceVersion":"7"}}`:                                                     all,
		`{ "metadata" : { "name" : "tea" , "namespace" : "shop" , "uid" : "u1" , "resourceVersion" : "7" } }`:                                      all,
		`{"metadata":{"name":"node-1","uid":"u1","resourceVersion":"7"}}`:                                                                          `"" "node-1" "u1" "7"`,
		`{"metadata":{"name":1,"namespace":null,"uid":{},"resourceVersion":["7"]}}`:                                                                `"" "" "" ""`,
		`{"metadata":[]}`: `"" "" "" ""`,
		`{"metadata":`:    `"" "" "" ""`,
		`{`:               `"" "" "" ""`,
		`null`:            `"" "" "" ""`,
		``:                `"" "" "" ""`,
	} {
		id := IdentityOf([]byte(object))
		if got := fmt.Sprintf("%q %q %q %q", id.Namespace, id.Name, id.UID, id.ResourceVersion); got != want {
			t.Errorf("%s: %s, want %s", object, got, want)
		}
	}
}

func TestIdentityDoesNotAllocate(t *testing.T) {
	object := []byte(`{"metadata":{"name":"tea","namespace":"shop","uid":"u1","resourceVersion":"7"}}`)
	if n := testing.AllocsPerRun(100, func() { IdentityOf(object) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
