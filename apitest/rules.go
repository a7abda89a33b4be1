package apitest

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
)

// rules describe what kube-apiserver does for some types and not for others.
type rules struct {
	name validation.ValidateNameFunc

	// counted says which changes increase metadata.generation. It begins with 1.
	counted counting
	// conditional: an update must have the resourceVersion that it replaces.
	conditional bool
	// createOnUpdate: if the object does not exist, a PUT creates it.
	createOnUpdate bool
	// returnsDeleted: the answer to a deletion is the object, not a Status.
	returnsDeleted bool
	// qualified: every finalizer must have a domain.
	qualified bool
	// graceful: a deleted object stays until its grace period has ended.
	graceful bool
	// statusLabels: a write to the status can also change labels and annotations.
	statusLabels bool
	// prepare sets fields that kube-apiserver sets in every new object.
	prepare func(obj, meta map[string]any)
	// prepareUpdate does the same for an update.
	prepareUpdate func(obj, old map[string]any)
	// complete fills in defaults in what is applied, so that it is no conflict with an equal state
	// that has them.
	complete func(obj map[string]any)
}

// counting says which changes increase the generation.
type counting int

const (
	countsNothing counting = iota
	countsSpec
	countsSpecAndAnnotations
	countsAll // changes outside metadata and status
)

// Each list is for one rule. It has the Resource.ID of each type in DefaultResources that obeys the
// rule.
var (
	withoutGeneration = []string{"namespaces", "nodes", "persistentvolumeclaims", "persistentvolumes", "services", "leases.coordination.k8s.io"}
	madeByUpdate      = []string{"endpoints", "events", "services", "leases.coordination.k8s.io", "clusterroles.rbac.authorization.k8s.io", "roles.rbac.authorization.k8s.io"}
	returnedDeleted   = []string{"namespaces", "persistentvolumeclaims", "persistentvolumes", "pods", "serviceaccounts", "services"}
	keepStatusLabels  = []string{"daemonsets.apps", "deployments.apps", "replicasets.apps", "statefulsets.apps", "replicationcontrollers", "cronjobs.batch", "jobs.batch"}
)

func newRules(res *Resource) rules {
	id := res.ID()
	r := rules{
		name:           validation.NameIsDNSSubdomain,
		counted:        countsSpec,
		conditional:    res.Custom || id == "leases.coordination.k8s.io",
		createOnUpdate: slices.Contains(madeByUpdate, id),
		returnsDeleted: slices.Contains(returnedDeleted, id),
		qualified:      !res.Custom && res.Group != "coordination.k8s.io" && res.Group != "rbac.authorization.k8s.io",
		graceful:       id == "pods",
		statusLabels:   !res.Custom && !slices.Contains(keepStatusLabels, id),
	}
	switch {
	case res.Custom, id == "endpointslices.discovery.k8s.io":
		r.counted = countsAll
	case slices.Contains(withoutGeneration, id):
		r.counted = countsNothing
	case id == "deployments.apps":
		r.counted = countsSpecAndAnnotations
	}
	switch id {
	case "namespaces":
		r.name = validation.NameIsDNSLabel
		r.prepare = prepareNamespace
		r.prepareUpdate = func(obj, _ map[string]any) { labelNamespace(metadataOf(obj)) }
	case "services":
		r.name = validation.NameIsDNS1035Label
		r.prepare = func(obj, _ map[string]any) { completePorts(obj) }
		r.prepareUpdate = func(obj, _ map[string]any) { completePorts(obj) }
		r.complete = completePorts
	case "clusterroles.rbac.authorization.k8s.io", "roles.rbac.authorization.k8s.io":
		r.name = nameInPath
	case "secrets":
		r.prepare = func(obj, _ map[string]any) { prepareSecret(obj) }
		r.prepareUpdate = func(obj, _ map[string]any) { prepareSecret(obj) }
	case "pods":
		r.prepare = func(obj, _ map[string]any) {
			if obj["status"] == nil {
				obj["status"] = map[string]any{"phase": "Pending"}
			}
		}
	}
	return r
}

// nameInPath validates the name of a role, which may have any character that a part of a path may
// have.
func nameInPath(name string, _ bool) []string {
	if name == "." || name == ".." || strings.ContainsAny(name, "/%") {
		return []string{"must be a part of a path, and not . or .."}
	}
	return nil
}

// labelNamespace adds the label with the name of the Namespace, by which selectors find it.
func labelNamespace(meta map[string]any) {
	labels := make(map[string]any)
	for k, v := range stringMap(meta["labels"]) { // the order does not matter: they go into a map
		labels[k] = v
	}
	labels["kubernetes.io/metadata.name"] = str(meta, "name")
	meta["labels"] = labels
}

// prepareNamespace sets the finalizer and the phase of a new Namespace.
func prepareNamespace(obj, meta map[string]any) {
	labelNamespace(meta)
	if obj["spec"] == nil {
		obj["spec"] = map[string]any{"finalizers": []any{"kubernetes"}}
	}
	if obj["status"] == nil {
		obj["status"] = map[string]any{"phase": "Active"}
	}
}

// completePorts fills in what the ports of a Service lack: the protocol, and the target, which is
// the port. So if a patch changes the port alone, the target stays what the port was.
func completePorts(obj map[string]any) {
	spec, _ := obj["spec"].(map[string]any)
	ports, _ := spec["ports"].([]any)
	if len(ports) == 0 {
		return
	}
	ports = slices.Clone(ports)
	for i := range ports {
		port, _ := ports[i].(map[string]any)
		if port["port"] == nil {
			continue // it is no port, and kube-apiserver would refuse it
		}
		port = maps.Clone(port)
		if v := port["protocol"]; v == nil || v == "" {
			port["protocol"] = "TCP"
		}
		if v := port["targetPort"]; v == nil || v == "" || sameJSON(v, 0) {
			port["targetPort"] = port["port"]
		}
		ports[i] = port
	}
	spec = maps.Clone(spec)
	spec["ports"] = ports
	obj["spec"] = spec
}

// prepareSecret moves stringData into data, in base64, and sets the default type.
func prepareSecret(obj map[string]any) {
	if str(obj, "type") == "" {
		obj["type"] = "Opaque"
	}
	text, ok := obj["stringData"].(map[string]any)
	if !ok {
		return
	}
	data := make(map[string]any)
	if old, ok := obj["data"].(map[string]any); ok {
		maps.Copy(data, old)
	}
	for k, v := range text { // the order does not matter: they go into a map
		if s, ok := v.(string); ok {
			data[k] = base64.StdEncoding.EncodeToString([]byte(s))
		}
	}
	obj["data"] = data
	delete(obj, "stringData")
}
