package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A normalizer turns an answer into what has to be the same on both sides: what a server chooses by
// itself becomes what it is in relation to earlier answers.
type normalizer struct {
	versions map[string][]string // of each object, in the order in which they were first seen
	uids     map[string][]string
	newest   uint64 // version of any object so far
}

func newNormalizer() *normalizer {
	return &normalizer{versions: make(map[string][]string), uids: make(map[string][]string)}
}

// A view is what is compared.
type view struct {
	Status  int
	Headers map[string]string
	Body    any
}

// comparedHeaders are those that clients read.
var comparedHeaders = []string{"Content-Type", "Retry-After", "Cache-Control", "Allow", "Www-Authenticate", "Location"}

// wholeKinds are the kinds whose objects have no defaults: everything in them is compared. Of
// others, kind and metadata are.
var wholeKinds = []string{
	"ConfigMap", "ConfigMapList", "Event", "EventList", "Secret", "SecretList", "Widget", "WidgetList", "Lease", "LeaseList", "Scale", "Status",
	"PartialObjectMetadata", "PartialObjectMetadataList", "Table", "APIVersions", "APIGroup",
}

func (n *normalizer) view(a answer) (v view, parsed []any) {
	v = view{Status: a.status, Headers: make(map[string]string)}
	for _, name := range comparedHeaders {
		if value := a.header.Get(name); value != "" {
			v.Headers[name] = value
		}
	}
	for _, w := range a.header.Values("Warning") {
		if strings.HasPrefix(w, "299") {
			v.Headers["Warning"] = "299"
		}
	}
	switch ct := a.header.Get("Content-Type"); {
	case strings.HasPrefix(ct, "application/json"):
		parsed = decodeAll(a.body)
	case strings.HasPrefix(ct, "application/vnd.kubernetes.protobuf"):
		v.Body = fmt.Sprintf("protobuf: %v", bytes.Contains(a.body, []byte("k8s\x00")))
		return v, nil
	default:
		v.Body = strings.TrimSpace(string(a.body))
		return v, nil
	}
	var all []any
	for _, p := range parsed {
		if !onlyABookmark(p) {
			all = append(all, n.value(p))
		}
	}
	v.Body = all
	return v, parsed
}

// onlyABookmark is true for a bookmark that ends no initial events. Time decides whether there is
// one.
func onlyABookmark(v any) bool {
	event, _ := v.(map[string]any)
	object, _ := event["object"].(map[string]any)
	meta, _ := object["metadata"].(map[string]any)
	return event["type"] == "BOOKMARK" && meta["annotations"] == nil
}

func decodeAll(b []byte) (all []any) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	for {
		var v any
		if err := d.Decode(&v); err != nil {
			if err != io.EOF {
				all = append(all, "no JSON: "+err.Error())
			}
			return all
		}
		all = append(all, v)
	}
}

// value normalizes an object, a list, a status or an event.
func (n *normalizer) value(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	if typ, ok := m["type"].(string); ok && m["object"] != nil && m["kind"] == nil {
		return map[string]any{"type": typ, "object": n.typed(m["object"], typ == "BOOKMARK")}
	}
	return n.typed(m, false)
}

func (n *normalizer) typed(v any, bookmark bool) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	kind, _ := m["kind"].(string)
	out := make(map[string]any)
	switch kind {
	case "Status":
		return n.status(m)
	case "APIResourceList", "APIGroupList", "APIGroupDiscoveryList":
		return discovered(m)
	case "Table":
		return n.table(m)
	}
	whole := slices.Contains(wholeKinds, kind)
	for k, member := range m {
		switch {
		case k == "metadata":
			out[k] = n.metadata(member, bookmark || strings.HasSuffix(kind, "List"))
		case k == "items":
			items, _ := member.([]any)
			var all []any
			for _, item := range items {
				o, _ := item.(map[string]any)
				o = withKind(o, strings.TrimSuffix(kind, "List"))
				all = append(all, n.typed(o, false))
			}
			out[k] = all
		case bookmark && k != "kind" && k != "apiVersion": // the empty rest of a type is as the type has it
		case k == "serverAddressByClientCIDRs", kind == "Event" && empty(member): // the server writes all members of an Event
		case kind == "Service" && k == "spec":
			spec, _ := member.(map[string]any)
			out[k] = spec["ports"]
		case whole || k == "kind" || k == "apiVersion":
			out[k] = member
		}
	}
	return out
}

func empty(v any) bool {
	m, object := v.(map[string]any)
	return v == nil || v == "" || object && len(m) == 0
}

// withKind marks an item, so that it is compared as its list is; whether it had a kind is compared
// too.
func withKind(item map[string]any, kind string) map[string]any {
	if item["kind"] != nil {
		return item
	}
	out := map[string]any{"kind": kind}
	for k, v := range item {
		out[k] = v
	}
	return out
}

// status leaves out the words. Details and causes stay.
func (n *normalizer) status(m map[string]any) any {
	out := map[string]any{"kind": "Status"}
	for _, k := range []string{"apiVersion", "status", "reason", "code"} {
		out[k] = m[k]
	}
	if meta, ok := m["metadata"].(map[string]any); ok && meta["continue"] != nil {
		out["continue"] = true
	}
	details, _ := m["details"].(map[string]any)
	d := make(map[string]any)
	for k, v := range details {
		switch k {
		case "causes":
			var causes []string
			for _, c := range v.([]any) {
				c, _ := c.(map[string]any)
				causes = append(causes, fmt.Sprintf("%v %v", c["reason"], c["field"]))
			}
			slices.Sort(causes)
			d[k] = slices.Compact(causes) // kube-apiserver validates metadata up to three times, and says so
		case "name":
			d[k] = generated.ReplaceAllString(fmt.Sprint(v), "$1...")
		case "uid":
			d[k] = place(n.uids, fmt.Sprint(details["name"]), fmt.Sprint(v))
		default:
			d[k] = v
		}
	}
	if len(d) > 0 {
		out["details"] = d
	}
	return out
}

func (n *normalizer) table(m map[string]any) any {
	out := map[string]any{"kind": "Table", "apiVersion": m["apiVersion"]}
	columns, _ := m["columnDefinitions"].([]any)
	out["columns"] = len(columns) > 0
	rows, _ := m["rows"].([]any)
	var all []any
	for _, row := range rows {
		row, _ := row.(map[string]any)
		all = append(all, n.typed(row["object"], true))
	}
	out["rows"] = all
	return out
}

func (n *normalizer) metadata(v any, ofList bool) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := make(map[string]any)
	for k, member := range m {
		s, _ := member.(string)
		switch k {
		case "resourceVersion":
			out[k] = n.version(fmt.Sprint(m["name"]), s, ofList)
		case "uid":
			out[k] = place(n.uids, fmt.Sprint(m["name"]), s)
		case "creationTimestamp", "deletionTimestamp":
			out[k] = member != nil
		case "continue":
			out[k] = s != ""
		case "managedFields", "selfLink":
		case "name":
			out[k] = member
			if prefix, ok := m["generateName"].(string); ok && strings.HasPrefix(s, prefix) {
				out[k] = prefix + "..."
			}
		case "labels":
			out[k] = member
			if labels, ok := member.(map[string]any); ok && m["generateName"] != nil && labels[nameLabel] == m["name"] {
				labels[nameLabel] = "..."
			}
		default:
			out[k] = member
		}
	}
	return out
}

// nameLabel is what a namespace is labelled with.
const nameLabel = "kubernetes.io/metadata.name"

// generated are names that the server has completed.
var generated = regexp.MustCompile(`^([Gg]en[-_]).{5}$`)

// version is the place of an object's version among those seen, or how a list's compares with them.
func (n *normalizer) version(object, s string, ofList bool) string {
	rv, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return s
	}
	if ofList {
		if rv >= n.newest {
			return "newest or later"
		}
		return "before the newest"
	}
	n.newest = max(n.newest, rv)
	return place(n.versions, object, s)
}

// place numbers what an object has had, in the order in which it was seen.
func place(seen map[string][]string, object, s string) string {
	i := slices.Index(seen[object], s)
	if i < 0 {
		i = len(seen[object])
		seen[object] = append(seen[object], s)
	}
	return fmt.Sprintf("#%d", i+1)
}

// ours are the names that both sides have to describe; kube-apiserver has more.
var ours = []string{
	"configmaps", "secrets", "pods", "pods/status", "namespaces", "namespaces/status", "nodes", "services", "leases",
	"deployments", "deployments/status", "events", "widgets", "widgets/status", "jobs", "jobs/status", "clusterroles",
}

var ourGroups = []string{"apps", "batch", "coordination.k8s.io", "events.k8s.io", "example.com", "rbac.authorization.k8s.io"}

func discovered(m map[string]any) any {
	out := map[string]any{"kind": m["kind"], "apiVersion": m["apiVersion"], "groupVersion": m["groupVersion"]}
	types, _ := m["resources"].([]any)
	found := make(map[string]any)
	for _, r := range types {
		r, _ := r.(map[string]any)
		name, _ := r["name"].(string)
		if slices.Contains(ours, name) {
			verbs := fmt.Sprint(r["verbs"])
			found[name] = []any{r["singularName"], r["namespaced"], r["kind"], r["shortNames"], r["categories"], verbs}
		}
	}
	groups, _ := m["groups"].([]any)
	for _, g := range groups {
		g, _ := g.(map[string]any)
		if name, _ := g["name"].(string); slices.Contains(ourGroups, name) {
			found[name] = g["preferredVersion"]
		}
	}
	items, _ := m["items"].([]any)
	for _, g := range items {
		g, _ := g.(map[string]any)
		meta, _ := g["metadata"].(map[string]any)
		if name, _ := meta["name"].(string); slices.Contains(ourGroups, name) || name == "" {
			found[name] = true
		}
	}
	out["found"] = found
	return out
}
