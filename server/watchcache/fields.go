package watchcache

import "k8s.io/apimachinery/pkg/runtime/schema"

// A Field is a field of a built-in type that a field selector can name.
type Field struct {
	Name string

	// Members are the paths of the members with its value. The first one that is there and not
	// empty counts. A field without members has no value in any object.
	Members []string

	// Absent is what a selector is compared with if no member counts.
	Absent string
}

// selectable has the fields that a field selector can name, besides metadata.name and
// metadata.namespace.
//
// Source: the calls of AddFieldLabelConversionFunc in kube-apiserver's APIs say which names it
// takes, and the AttrFunc of each of its storages says what they are compared with.
var selectable = map[schema.GroupResource][]Field{
	{Resource: "events"}: append(members(
		"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
		"involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath",
		"reason", "reportingComponent", "type",
	), Field{Name: "source", Members: []string{"source.component", "reportingComponent"}}),
	{Group: "events.k8s.io", Resource: "events"}: members(
		"regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid",
		"regarding.apiVersion", "regarding.resourceVersion", "regarding.fieldPath",
		"reason", "reportingController", "type",
	),
	{Resource: "namespaces"}: members("status.phase"),
	{Resource: "nodes"}:      {{Name: "spec.unschedulable", Members: []string{"spec.unschedulable"}, Absent: "false"}},
	{Resource: "pods"}: append(members(
		"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
		"status.phase", "status.podIP", "status.nominatedNodeName",
	),
		Field{Name: "spec.hostNetwork", Members: []string{"spec.hostNetwork"}, Absent: "false"},
		Field{Name: "spec.host", Members: []string{"spec.nodeName"}}, // of clients older than v1
		Field{Name: "status.podIPs"},
	),
	{Resource: "replicationcontrollers"}: {{Name: "status.replicas", Members: []string{"status.replicas"}, Absent: "0"}},
	{Resource: "secrets"}:                members("type"),
	{Resource: "services"}:               members("spec.clusterIP", "spec.type"),
	{Group: "batch", Resource: "jobs"}:   {{Name: "status.successful", Members: []string{"status.succeeded"}, Absent: "0"}},

	{Group: "certificates.k8s.io", Resource: "certificatesigningrequests"}: members("spec.signerName"),
	{Group: "certificates.k8s.io", Resource: "clustertrustbundles"}:        members("spec.signerName"),
	podCertificateRequests:                                 members("spec.signerName", "spec.podName", "spec.nodeName"),
	{Group: "resource.k8s.io", Resource: "resourceslices"}: members("spec.nodeName", "spec.driver"),
}

var podCertificateRequests = schema.GroupResource{Group: "certificates.k8s.io", Resource: "podcertificaterequests"}

// members returns fields that have the paths of their members as names.
func members(paths ...string) []Field {
	all := make([]Field, len(paths))
	for i, path := range paths {
		all[i] = Field{Name: path, Members: paths[i : i+1]}
	}
	return all
}

// SelectableFields returns the fields of a built-in type that a field selector can name, besides
// metadata.name and, if [SelectsNamespace], metadata.namespace.
func SelectableFields(resource schema.GroupResource) []Field { return selectable[resource] }

// SelectsNamespace reports whether a field selector of a type with namespaces can name
// metadata.namespace. Of one type it cannot.
func SelectsNamespace(resource schema.GroupResource) bool { return resource != podCertificateRequests }
