package apitest

import (
	"sync"

	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// The types of mergeTypes: in one, the elements of well-known lists have a name; in the other,
// every list but those of metadata is one value, as in a custom type whose definition does not say
// anything else.
const (
	namedLists  = "namedLists"
	atomicLists = "atomicLists"
)

// mergeTypes say which parts of an object have owners of their own: the members of objects, and the
// elements of lists that have a name. They go by the name of a list, and what is not of the
// expected form is one value. The ports of a container or a Service, which have two keys, are one
// value, too.
//
// https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy
var mergeTypes = sync.OnceValue(func() *typed.Parser {
	parser, err := typed.NewParser(typed.YAMLObject(`types:
- name: namedLists
  map:
    fields:
    - {name: metadata, type: {namedType: metadata}}
    - {name: spec, type: {namedType: named}}
    - {name: status, type: {namedType: named}}
    - {name: data, type: {namedType: atomic}}
    - {name: binaryData, type: {namedType: atomic}}
    - {name: stringData, type: {namedType: atomic}}
    elementType: {namedType: named}
- name: atomicLists
  map:
    fields:
    - {name: metadata, type: {namedType: metadata}}
    - {name: spec, type: {namedType: atomic}}
    - {name: status, type: {namedType: atomic}}
    elementType: {namedType: atomic}
- name: metadata
  scalar: untyped
  list: {elementType: {namedType: atomic}, elementRelationship: atomic}
  map:
    fields:
    - {name: labels, type: {namedType: atomic}}
    - {name: annotations, type: {namedType: atomic}}
    - {name: finalizers, type: {namedType: set}}
    - {name: ownerReferences, type: {namedType: by-uid}}
    elementType: {namedType: atomic}
- name: atomic
  scalar: untyped
  list: {elementType: {namedType: atomic}, elementRelationship: atomic}
  map: {elementType: {namedType: atomic}, elementRelationship: separable}
- name: named
  scalar: untyped
  list: {elementType: {namedType: named}, elementRelationship: atomic}
  map:
    fields:
    - {name: metadata, type: {namedType: metadata}}
    - {name: spec, type: {namedType: named}}
    - {name: template, type: {namedType: named}}
    - {name: conditions, type: {namedType: by-type}}
    - {name: containers, type: {namedType: by-name}}
    - {name: env, type: {namedType: by-name}}
    - {name: ephemeralContainers, type: {namedType: by-name}}
    - {name: hostAliases, type: {namedType: by-ip}}
    - {name: imagePullSecrets, type: {namedType: by-name}}
    - {name: initContainers, type: {namedType: by-name}}
    - {name: volumeDevices, type: {namedType: by-devicePath}}
    - {name: volumeMounts, type: {namedType: by-mountPath}}
    - {name: volumes, type: {namedType: by-name}}
    elementType: {namedType: named}
- name: set
  scalar: untyped
  list: {elementType: {scalar: string}, elementRelationship: associative}
  map: {elementType: {namedType: atomic}}
` + listsByKey("uid", "type", "name", "ip", "devicePath", "mountPath")))
	if err != nil {
		// unreachable: the text is a constant.
		panic("apitest: " + err.Error())
	}
	return parser
})

// listsByKey has the type of a list for each key by which elements are told apart.
func listsByKey(keys ...string) (types string) {
	for _, key := range keys {
		types += `
- name: by-` + key + `
  list: {elementType: {namedType: named}, elementRelationship: associative, keys: [` + key + `]}
  map: {elementType: {namedType: named}}`
	}
	return types
}
