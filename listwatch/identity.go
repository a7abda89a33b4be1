package listwatch

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/transport"
)

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
		labels: canonical(r.opts.LabelSelector), fields: r.opts.FieldSelector,
		metadata: r.decoder.partial, share: r.opts.ShareParts,
	}
	drop := slices.Clone(r.opts.Drop)
	slices.Sort(drop)
	id.drop = strings.Join(slices.Compact(drop), "\x00")
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

// canonical returns a label selector with its requirements in order, so that equal selectors are equal texts. It returns a
// selector that it cannot read as it is.
func canonical(selector string) string {
	parsed, err := labels.Parse(selector)
	if err != nil {
		return selector
	}
	return parsed.String()
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
