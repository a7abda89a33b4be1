// Package clientgo compares relist with client-go: what both make of a kubeconfig, what a server
// then sees of their requests, and which names of client-go docs/names.md has. How client-go's
// informers follow apitest is played by packages peers and traces.
package clientgo
