package listwatch

import (
	"encoding/json"
	"slices"
)

// Origin says what the objects of a [Resource] are, as one line of JSON: the server's URL, the resource, the namespace, the selectors,
// and what is left out of each object. Two Resources with the same Origin bring the same objects, except that a Transform may make
// something else of them. A program that saves objects keeps the Origin beside them, and does not use what was saved of another
// one.
//
// If SetShardSelector has changed the selector, Origin also says how often. So it does not come back to what it was: until another
// list has come, what the Resource has brought may be of the shard before.
//
// The URL of a server does not identify a cluster: inside of a cluster, it is usually the same for every cluster.
func (r *Resource[T]) Origin() string {
	drop := slices.Sorted(slices.Values(r.opts.Drop))
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
		r.client.Server(), r.gvr.Group, r.gvr.Version, r.gvr.Resource, r.opts.Namespace, r.opts.LabelSelector, r.opts.FieldSelector,
		shard, changes, drop, r.decoder.partial, r.opts.Transform != nil,
	})
	if err != nil {
		// unreachable: strings and booleans can always be encoded.
		panic("listwatch: " + err.Error())
	}
	return string(text)
}
