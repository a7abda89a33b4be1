package watchcache

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// selectable has the fields that a field selector can name, besides metadata.name and metadata.namespace.
//
// Source: the functions AddFieldLabelConversionsFor... of kube-apiserver's APIs, and the ToSelectableFields of its storages.
var selectable = map[schema.GroupResource][]string{
	{Resource: "events"}: {
		"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
		"involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath",
		"reason", "reportingComponent", "source", "type",
	},
	{Resource: "namespaces"}: {"status.phase"},
	{Resource: "nodes"}:      {"spec.unschedulable"},
	{Resource: "pods"}: {
		"spec.nodeName", "spec.hostNetwork", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
		"status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName",
	},
	{Resource: "replicationcontrollers"}: {"status.replicas"},
	{Resource: "secrets"}:                {"type"},
	{Resource: "services"}:               {"spec.clusterIP", "spec.type"},
	{Group: "batch", Resource: "jobs"}:   {"status.successful"},
}

// SelectableFields returns the fields of a built-in type that a field selector can name, besides metadata.name and metadata.namespace. Each is
// the path of a member, but that the source of an Event is its source.component.
func SelectableFields(resource schema.GroupResource) []string { return selectable[resource] }

// AbsentField returns the text with which a field selector is compared if an object lacks the field.
func AbsentField(path string) string {
	switch {
	case strings.HasSuffix(path, "eplicas"), path == "status.successful":
		return "0"
	case path == "spec.unschedulable", path == "spec.hostNetwork":
		return "false"
	}
	return ""
}
