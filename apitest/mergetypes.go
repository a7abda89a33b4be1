package apitest

import "sigs.k8s.io/structured-merge-diff/v6/typed"

// The types of mergeTypes: in one, the elements of well-known lists have a name; in the other, every list but those of metadata is
// one value, as in a custom type whose definition does not say anything else.
const (
	namedLists  = "namedLists"
	atomicLists = "atomicLists"
)

// mergeTypes say which parts of an object have owners of their own: the members of objects, and the elements of lists that have a
// name. Like mergeKeys, they go by the name of a list, and what is not of the expected form is one value. The ports of a container or
// a Service, which have two keys, are one value, too.
//
// https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy
var mergeTypes = func() *typed.Parser {
	parser, err := typed.NewParser(`types:
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
    - {name: ownerReferences, type: {namedType: byUID}}
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
    - {name: conditions, type: {namedType: byType}}
    - {name: containers, type: {namedType: byName}}
    - {name: env, type: {namedType: byName}}
    - {name: ephemeralContainers, type: {namedType: byName}}
    - {name: hostAliases, type: {namedType: byIP}}
    - {name: imagePullSecrets, type: {namedType: byName}}
    - {name: initContainers, type: {namedType: byName}}
    - {name: volumeDevices, type: {namedType: byDevicePath}}
    - {name: volumeMounts, type: {namedType: byMountPath}}
    - {name: volumes, type: {namedType: byName}}
    elementType: {namedType: named}
- name: set
  scalar: untyped
  list: {elementType: {scalar: string}, elementRelationship: associative}
  map: {elementType: {namedType: atomic}}
- name: byUID
  scalar: untyped
  list: {elementType: {namedType: named}, elementRelationship: associative, keys: [uid]}
  map: {elementType: {namedType: named}}
- name: byType
  scalar: untyped
  list: {elementType: {namedType: named}, elementRelationship: associative, keys: [type]}
  map: {elementType: {namedType: named}}
- name: byName
  scalar: untyped
  list: {elementType: {namedType: named}, elementRelationship: associative, keys: [name]}
  map: {elementType: {namedType: named}}
- name: byIP
  scalar: untyped
  list: {elementType: {namedType: named}, elementRelationship: associative, keys: [ip]}
  map: {elementType: {namedType: named}}
- name: byDevicePath
  scalar: untyped
  list: {elementType: {namedType: named}, elementRelationship: associative, keys: [devicePath]}
  map: {elementType: {namedType: named}}
- name: byMountPath
  scalar: untyped
  list: {elementType: {namedType: named}, elementRelationship: associative, keys: [mountPath]}
  map: {elementType: {namedType: named}}
`)
	if err != nil {
		// unreachable: the text is a constant.
		panic("apitest: " + err.Error())
	}
	return parser
}()
