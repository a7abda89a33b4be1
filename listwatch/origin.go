package listwatch

import (
	"encoding/json"
	"slices"
)

// Origin says what the objects of a [Client] are, as one line of JSON: the server's URL, the
// resource, the namespace, the selectors, and the members that are left out of each object. Two
// Clients with the same Origin bring the same objects, unless a Transform changes them. A program
// that saves objects keeps the Origin beside them, and does not use saved objects of another
// Origin.
//
// The URL of a server does not identify a cluster: inside of a cluster, the URL is usually the same
// as in every other one.
func (c *Client[T]) Origin() string {
	text, err := json.Marshal(struct {
		Server        string   `json:"server"`
		Group         string   `json:"group,omitempty"`
		Version       string   `json:"version"`
		Resource      string   `json:"resource"`
		Namespace     string   `json:"namespace,omitempty"`
		LabelSelector string   `json:"labelSelector,omitempty"`
		FieldSelector string   `json:"fieldSelector,omitempty"`
		ShardSelector string   `json:"shardSelector,omitempty"`
		Drop          []string `json:"drop,omitempty"`
		MetadataOnly  bool     `json:"metadataOnly,omitempty"`
		Transform     bool     `json:"transform,omitempty"`
	}{
		c.client.Server(), c.gvr.Group, c.gvr.Version, c.gvr.Resource, c.opts.Namespace,
		c.labels.String(), // in order, so that equal selectors are equal texts
		c.opts.FieldSelector, c.opts.ShardSelector,
		c.drops(), c.decoder.partial, c.opts.Transform != nil,
	})
	if err != nil {
		// unreachable: strings and booleans can always be encoded.
		panic("listwatch: " + err.Error())
	}
	return string(text)
}

// drops returns Options.Drop, sorted and each path once, so that equal options are equal.
func (c *Client[T]) drops() []string {
	return slices.Compact(slices.Sorted(slices.Values(c.opts.Drop)))
}
