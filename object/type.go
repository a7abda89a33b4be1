package object

import "k8s.io/apimachinery/pkg/runtime/schema"

// Type names a type of Kubernetes objects by both of its names: the resource, which is in the path
// of a request, and the kind, which is in an object and in the references to it. `kubectl
// api-resources` prints both, and the server knows no rule that makes one of the other.
//
//	shops := object.Type{Group: "example.com", Version: "v1", Resource: "shops", Kind: "Shop"}
//	configMaps := object.Type{Version: "v1", Resource: "configmaps", Kind: "ConfigMap"}
//
// https://kubernetes.io/docs/reference/using-api/api-concepts/#standard-api-terminology
type Type struct {
	// Group is that of the API, such as apps. It is empty for the core group.
	Group string

	// Version is that of the API, such as v1.
	Version string

	// Resource is the plural in paths, such as deployments.
	Resource string

	// Kind is the kind of each object, such as Deployment.
	Kind string

	// ClusterScoped says that the objects have no namespace.
	ClusterScoped bool
}

// GroupVersionResource returns the resource with its group and its version.
func (t Type) GroupVersionResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: t.Group, Version: t.Version, Resource: t.Resource}
}

// GroupVersionKind returns the kind with its group and its version.
func (t Type) GroupVersionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: t.Group, Version: t.Version, Kind: t.Kind}
}
