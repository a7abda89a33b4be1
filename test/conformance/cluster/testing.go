package cluster

import "testing"

// New starts a cluster for a test, which ends with the test. When the test fails,
// the ends of the programs' logs are printed.
func New(tb testing.TB, opts Options) *Cluster {
	tb.Helper()
	c, err := Start(tb.Context(), opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Log(c.Logs())
		}
		if err := c.Stop(); err != nil {
			tb.Errorf("stop the cluster: %v", err)
		}
	})
	return c
}
