//go:build !unix

package usage

// Now returns nothing.
func Now() Usage { return Usage{} }
