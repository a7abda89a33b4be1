package apitest

import (
	"strings"
	"testing"
	"testing/synctest"
)

// Objects come without managedFields in every format to those who ask for that, if the server knows how.
func TestDropManagedFields(t *testing.T) {
	const path, drop = "/api/v1/namespaces/default/configmaps", ";drop=metadata.managedFields"
	synctest.Test(t, func(t *testing.T) {
		for _, knows := range []bool{true, false} {
			f := serve(t, Options{DropManagedFields: knows, CBOR: true})
			f.do("PATCH", path+"/a?fieldManager=m", `{"kind":"ConfigMap","apiVersion":"v1","data":{"k":"v"}}`, "Content-Type: application/apply-patch+yaml")
			for accept, asks := range map[string]bool{
				"application/json":                                                         false,
				"application/json;drop=metadata.annotations":                               false,
				"application/json" + drop:                                                  true,
				"application/json;drop=spec.x+metadata.managedFields":                      true,
				"application/xml" + drop + ",application/json":                             false,
				"application/yaml" + drop + ",application/json" + drop:                     true,
				"application/cbor" + drop:                                                  true,
				"application/vnd.kubernetes.protobuf" + drop:                               true,
				"application/json;as=Table;g=meta.k8s.io;v=v1" + drop:                      true,
				"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1" + drop:      true,
				"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1":             false,
				"application/cbor;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1" + drop:  true,
				"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1;drop=ab": false,
			} {
				for what, query := range map[string]string{"get": "/a", "list": "", "watch": "?watch=1&resourceVersion=1&timeoutSeconds=1"} {
					answer := f.get(path+query, "Accept: "+accept)
					if answer.code == 406 && strings.Contains(accept, "Metadata") {
						continue // the other form of metadata
					}
					if has := strings.Contains(answer.body, "FieldsV1"); answer.code != 200 || has == (knows && asks) || !strings.Contains(answer.body, "default") {
						t.Errorf("%s %s: %d %q", what, accept, answer.code, answer.body)
					}
				}
			}
		}
	})
}
