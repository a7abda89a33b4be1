package listwatch

import (
	"k8s.io/apimachinery/pkg/labels"

	"github.com/relist-go/relist/internal/writes"
)

// Scope names what the Client lists, for logs and metrics: "deployments.apps", and the namespace or
// "" for all.
func (c *Client[T]) Scope() (resource, namespace string) {
	return c.gvr.GroupResource().String(), c.opts.Namespace
}

// Sees says whether the Client lists the object of a write, for package controller. A Client of
// another address may be of another cluster.
func (c *Client[T]) Sees(w writes.Write) writes.Sight {
	if w.Server != c.client.Server() || w.Resource != c.gvr.GroupResource().String() || c.opts.Namespace != "" && c.opts.Namespace != w.Namespace {
		return writes.Elsewhere
	}
	switch {
	case !w.Labeled && !c.labels.Empty():
		return writes.Unsure
	case !c.labels.Matches(labels.Set(w.Labels)):
		return writes.Hidden
	case c.opts.FieldSelector+c.opts.ShardSelector != "":
		return writes.Unsure
	}
	return writes.Shown
}
