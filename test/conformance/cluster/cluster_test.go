package cluster_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/test/conformance/cluster"
)

// TestCluster: etcd is saved and restored only while it does not run, and the cluster leaves
// nothing behind. What else the harness does is seen by the tests that use it.
func TestCluster(t *testing.T) {
	var c *cluster.Cluster
	t.Cleanup(func() { stopped(t, c) }) // after that of New, which stops it
	c = cluster.New(t, cluster.Options{})
	before, err := c.CurrentRevision(t.Context())
	must.OK(t, err)
	backup := filepath.Join(t.TempDir(), "backup")
	if err := c.SaveEtcd(backup); err == nil {
		t.Error("etcd was saved while it ran")
	}
	if err := c.RestoreEtcd(t.TempDir()); err == nil {
		t.Error("etcd was restored while it ran")
	}
	must.OK(t, c.StopEtcd())
	if err := c.RestoreEtcd(backup); err == nil {
		t.Error("etcd was restored from a backup that was never made")
	}
	must.OK(t, errors.Join(c.SaveEtcd(backup), c.RestoreEtcd(backup), c.StartEtcd(t.Context())))
	if after, err := c.CurrentRevision(t.Context()); err != nil || after < before {
		t.Errorf("revision %d before, %d after, %v", before, after, err)
	}
}

// stopped checks that a cluster left nothing behind.
func stopped(t *testing.T, c *cluster.Cluster) {
	if c == nil {
		return // it did not start, which was reported
	}
	if _, err := os.Stat(c.Kubeconfig()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Stop the temporary folder is still there: %v", err)
	}
	if _, err := c.CurrentRevision(context.WithoutCancel(t.Context())); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("etcd after Stop: %v, want connection refused", err)
	}
	if err := c.Stop(); err != nil {
		t.Errorf("second Stop: %v", err)
	}
}

// TestStartFails: the error says why, in the program's own words.
func TestStartFails(t *testing.T) {
	_, err := cluster.Start(t.Context(), cluster.Options{APIServerFlags: []string{"--no-such-flag"}})
	if err == nil || !strings.Contains(err.Error(), "unknown flag: --no-such-flag") {
		t.Errorf("got %v, want the API server's complaint", err)
	}
	t.Chdir(t.TempDir()) // there is no program in it, nor above
	_, err = cluster.Start(t.Context(), cluster.Options{})
	if err == nil || !strings.Contains(err.Error(), "find etcd") {
		t.Errorf("got %v, want that etcd is missing", err)
	}
}
