// Package deploy applies the manifests of cmd/deploy/ to a real API server, and runs the
// command with their arguments and the rights of their service accounts.
package deploy
