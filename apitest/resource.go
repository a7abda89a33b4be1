package apitest

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/server/watchcache"
)

// Resource describes one type of the server.
type Resource struct {
	// Group is empty for the core group.
	Group   string
	Version string
	// Plural is the name in paths: "configmaps".
	Plural string
	Kind   string
	// Singular is another name. If empty, the Kind in lower case.
	Singular   string
	ShortNames []string
	Categories []string

	// ClusterScoped is true for a type whose objects have no namespace.
	ClusterScoped bool

	// Custom is true for a type that kube-apiserver would serve from a CustomResourceDefinition. In
	// a list, the items of a custom type have kind and apiVersion. For a built-in type, only the
	// list has them.
	Custom bool

	// Status is true for a type with a status subresource. A write to the subresource changes only
	// the status, and a write to the object does not change the status. Server.Create, Update and
	// Patch may change both, so that a test can make a running Pod in one step.
	Status bool

	// Fields are the fields that a field selector can name, besides metadata.name and
	// metadata.namespace. Each is the path of a member, such as "spec.nodeName", or a name that
	// kube-apiserver has for a field of this built-in type.
	Fields []string
}

// ID returns the name of the type in calls of this package: "configmaps", "deployments.apps".
func (r *Resource) ID() string { return r.GroupResource().String() }

// GroupResource returns the group and the plural name.
func (r *Resource) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.Group, Resource: r.Plural}
}

func (r *Resource) apiVersion() string {
	return schema.GroupVersion{Group: r.Group, Version: r.Version}.String()
}

// root returns the path of the group and version: "/api/v1", "/apis/apps/v1".
func (r *Resource) root() string {
	if r.Group == "" {
		return "/api/" + r.Version
	}
	return "/apis/" + r.Group + "/" + r.Version
}

func (r *Resource) verbs() []string {
	if r.ID() == "namespaces" {
		return []string{"create", "delete", "get", "list", "patch", "update", "watch"} // all but deletecollection
	}
	return []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
}

func (r Resource) complete() Resource {
	r.Version = cmp.Or(r.Version, "v1")
	r.Singular = cmp.Or(r.Singular, strings.ToLower(r.Kind))
	r.Fields = slices.Clone(r.Fields)
	return r
}

// DefaultResources returns the types of a server whose Options.Resources is nil: the built-in types
// that programs list, watch and write most, with Leases and Events, and one custom type,
// widgets.example.com.
func DefaultResources() []Resource {
	all := []string{"all"}
	resources := []Resource{
		{Plural: "configmaps", Kind: "ConfigMap", ShortNames: []string{"cm"}},
		{Plural: "endpoints", Kind: "Endpoints", Singular: "endpoints", ShortNames: []string{"ep"}},
		{Plural: "events", Kind: "Event", ShortNames: []string{"ev"}},
		{Plural: "namespaces", Kind: "Namespace", ShortNames: []string{"ns"}, ClusterScoped: true, Status: true},
		{Plural: "nodes", Kind: "Node", ShortNames: []string{"no"}, ClusterScoped: true, Status: true},
		{Plural: "persistentvolumeclaims", Kind: "PersistentVolumeClaim", ShortNames: []string{"pvc"}, Status: true},
		{Plural: "persistentvolumes", Kind: "PersistentVolume", ShortNames: []string{"pv"}, ClusterScoped: true, Status: true},
		{Plural: "pods", Kind: "Pod", ShortNames: []string{"po"}, Categories: all, Status: true},
		{Plural: "replicationcontrollers", Kind: "ReplicationController", ShortNames: []string{"rc"}, Categories: all, Status: true},
		{Plural: "secrets", Kind: "Secret"},
		{Plural: "serviceaccounts", Kind: "ServiceAccount", ShortNames: []string{"sa"}},
		{Plural: "services", Kind: "Service", ShortNames: []string{"svc"}, Categories: all, Status: true},
		{Group: "apps", Plural: "daemonsets", Kind: "DaemonSet", ShortNames: []string{"ds"}, Categories: all, Status: true},
		{Group: "apps", Plural: "deployments", Kind: "Deployment", ShortNames: []string{"deploy"}, Categories: all, Status: true},
		{Group: "apps", Plural: "replicasets", Kind: "ReplicaSet", ShortNames: []string{"rs"}, Categories: all, Status: true},
		{Group: "apps", Plural: "statefulsets", Kind: "StatefulSet", ShortNames: []string{"sts"}, Categories: all, Status: true},
		{Group: "batch", Plural: "cronjobs", Kind: "CronJob", ShortNames: []string{"cj"}, Categories: all, Status: true},
		{Group: "batch", Plural: "jobs", Kind: "Job", Categories: all, Status: true},
		{Group: "coordination.k8s.io", Plural: "leases", Kind: "Lease"},
		{Group: "discovery.k8s.io", Plural: "endpointslices", Kind: "EndpointSlice"},
		{Group: "events.k8s.io", Plural: "events", Kind: "Event", ShortNames: []string{"ev"}},
		{Group: "networking.k8s.io", Plural: "ingresses", Kind: "Ingress", ShortNames: []string{"ing"}, Status: true},
		{Group: "networking.k8s.io", Plural: "networkpolicies", Kind: "NetworkPolicy", ShortNames: []string{"netpol"}},
		{Group: "rbac.authorization.k8s.io", Plural: "clusterroles", Kind: "ClusterRole", ClusterScoped: true},
		{Group: "rbac.authorization.k8s.io", Plural: "roles", Kind: "Role"},
		{Group: "example.com", Plural: "widgets", Kind: "Widget", ShortNames: []string{"wd"}, Custom: true, Status: true},
	}
	for i := range resources {
		for _, field := range watchcache.SelectableFields(resources[i].GroupResource()) {
			resources[i].Fields = append(resources[i].Fields, field.Name)
		}
	}
	return resources
}
