package listwatch

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/transport"
)

// A Resource says in two ways what it delivers. Its Identity is for one process, and contains the client and the type. Its Origin is
// for a file, and contains the server's URL and no type.

// Identity says what a [Resource] delivers. If two Identities are equal (==), their Resources send the same requests through the
// same client, and decode the objects in the same way. So a program needs only one of them, as informer.Pool does.
//
// A Resource has an Identity of its own if nobody can tell whether another one does the same: if it has a Transform, a ShardSelector,
// which may change, or an Encoding whose values Go cannot compare.
type Identity struct {
	client          *transport.Client
	typ             reflect.Type
	gvr             schema.GroupVersionResource
	namespace       string
	labels, fields  string
	encoding        Encoding
	drop            string
	metadata, share bool
	only            any // the Resource, if it has an Identity of its own
}

// Identity returns what the Resource delivers.
func (r *Resource[T]) Identity() Identity {
	id := Identity{
		client: r.client, typ: reflect.TypeFor[T](), gvr: r.gvr, namespace: r.opts.Namespace,
		labels: canonical(r.opts.LabelSelector), fields: r.opts.FieldSelector, drop: strings.Join(r.drops(), "\x00"),
		metadata: r.decoder.partial, share: r.opts.ShareParts,
	}
	if wanted := r.decoder.encodings[0].Encoding; reflect.ValueOf(wanted).Comparable() {
		id.encoding = wanted
	} else {
		id.only = r
	}
	if r.opts.Transform != nil || r.sharding.get().selector != "" {
		id.only = r
	}
	return id
}

// String names the resource as errors do, with its selectors: "pods in shop, labels app=web, fields spec.nodeName=n1". Different
// Identities may have equal Strings.
func (id Identity) String() string {
	text := id.gvr.GroupResource().String()
	if id.namespace != "" {
		text += " in " + id.namespace
	}
	if id.labels != "" {
		text += fmt.Sprintf(", labels %s", id.labels)
	}
	if id.fields != "" {
		text += fmt.Sprintf(", fields %s", id.fields)
	}
	return text
}

// Origin says what the objects of a [Resource] are, as one line of JSON: the server's URL, the resource, the namespace, the selectors,
// and the members that are left out of each object. Two Resources with the same Origin bring the same objects, unless a Transform
// changes them. A program that saves objects keeps the Origin beside them, and does not use saved objects of another Origin.
//
// If SetShardSelector has changed the selector, Origin also says how often. So it does not become again what it was: until another
// list has come, the objects that the Resource has brought may be of the shard before.
//
// The URL of a server does not identify a cluster: inside of a cluster, the URL is usually the same as in every other one.
func (r *Resource[T]) Origin() string {
	shard, changes := r.sharding.origin()
	text, err := json.Marshal(struct {
		Server        string   `json:"server"`
		Group         string   `json:"group,omitempty"`
		Version       string   `json:"version"`
		Resource      string   `json:"resource"`
		Namespace     string   `json:"namespace,omitempty"`
		LabelSelector string   `json:"labelSelector,omitempty"`
		FieldSelector string   `json:"fieldSelector,omitempty"`
		ShardSelector string   `json:"shardSelector,omitempty"`
		ShardChanges  int      `json:"shardChanges,omitempty"`
		Drop          []string `json:"drop,omitempty"`
		MetadataOnly  bool     `json:"metadataOnly,omitempty"`
		Transform     bool     `json:"transform,omitempty"`
	}{
		r.client.Server(), r.gvr.Group, r.gvr.Version, r.gvr.Resource, r.opts.Namespace,
		canonical(r.opts.LabelSelector), r.opts.FieldSelector, shard, changes,
		r.drops(), r.decoder.partial, r.opts.Transform != nil,
	})
	if err != nil {
		// unreachable: strings and booleans can always be encoded.
		panic("listwatch: " + err.Error())
	}
	return string(text)
}

// drops returns Options.Drop, sorted and each path once, so that equal options are equal.
func (r *Resource[T]) drops() []string {
	return slices.Compact(slices.Sorted(slices.Values(r.opts.Drop)))
}

// canonical returns a label selector with its requirements in order, so that equal selectors are equal texts. It returns a
// selector that it cannot read as it is.
func canonical(selector string) string {
	parsed, err := labels.Parse(selector)
	if err != nil {
		return selector
	}
	return parsed.String()
}
