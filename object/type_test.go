package object_test

import (
	"testing"

	"github.com/relist-go/relist/object"
)

// The names of a type are printed as apimachinery prints them.
func TestType(t *testing.T) {
	deployment := object.Type{Group: "apps", Version: "v1", Resource: "deployments", Kind: "Deployment"}
	if got := deployment.GroupVersionResource().String(); got != "apps/v1, Resource=deployments" {
		t.Errorf("the resource is %s", got)
	}
	if got := deployment.GroupVersionKind().String(); got != "apps/v1, Kind=Deployment" {
		t.Errorf("the kind is %s", got)
	}
}
