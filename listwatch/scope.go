package listwatch

// Scope names what the Client lists, for logs and metrics: "deployments.apps", and the namespace or "" for all.
func (r *Client[T]) Scope() (resource, namespace string) {
	return r.gvr.GroupResource().String(), r.opts.Namespace
}
