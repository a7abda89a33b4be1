package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// SaveEtcd copies etcd's data, as a backup would, to a folder that does not exist
// yet. etcd must not run: what it has not written out is not in its files.
func (c *Cluster) SaveEtcd(dir string) error {
	return c.copyEtcd("save", dir, c.etcdDir())
}

// RestoreEtcd replaces etcd's data by what SaveEtcd saved. etcd must not run. An API server
// that runs meanwhile does not notice, and serves what it has cached: lists and watches of
// what is no more, until it is started again.
//
// The revision goes back to the one of the backup, and the next writes are given
// numbers that clients have seen before. `etcdutl snapshot restore` does the same unless it is told to
// bump the revision: https://etcd.io/docs/v3.6/op-guide/recovery/
func (c *Cluster) RestoreEtcd(dir string) error {
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("restore etcd: %w", err)
	}
	if err := c.etcdStopped(); err != nil {
		return fmt.Errorf("restore etcd: %w", err)
	}
	if err := os.RemoveAll(c.etcdDir()); err != nil {
		return fmt.Errorf("restore etcd: %w", err)
	}
	return c.copyEtcd("restore", c.etcdDir(), dir)
}

func (c *Cluster) copyEtcd(what, to, from string) error {
	if err := c.etcdStopped(); err != nil {
		return fmt.Errorf("%s etcd: %w", what, err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return fmt.Errorf("%s etcd: %w", what, err)
	}
	return os.Chmod(to, 0o700) // etcd wants a folder that others cannot read
}

func (c *Cluster) etcdStopped() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.etcd != nil {
		return errors.New("it runs: call StopEtcd first")
	}
	return nil
}

// etcdDir is etcd's data directory.
func (c *Cluster) etcdDir() string { return filepath.Join(c.dir, "etcd") }
