package listwatch

// Scope names what the Client lists, for logs and metrics: "deployments.apps", and the namespace or
// "" for all.
func (c *Client[T]) Scope() (resource, namespace string) {
	return c.gvr.GroupResource().String(), c.opts.Namespace
}
