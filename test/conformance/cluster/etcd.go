package cluster

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
)

// StartEtcd starts etcd again after StopEtcd, with the data that it had, and
// returns when it answers.
func (c *Cluster) StartEtcd(ctx context.Context) error {
	peer := fmt.Sprintf("http://127.0.0.1:%d", c.peerPort)
	args := append([]string{
		"--name=conformance",
		"--data-dir=" + c.etcdDir(),
		"--listen-client-urls=" + c.etcdURL,
		"--advertise-client-urls=" + c.etcdURL,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=conformance=" + peer,
		"--unsafe-no-fsync", // the data need only survive the process, which the page cache does
		"--log-level=warn",
	}, c.opts.EtcdFlags...)
	return c.start(ctx, &c.etcd, "etcd", args, func(ctx context.Context) error {
		_, err := c.CurrentRevision(ctx)
		return err
	})
}

// StopEtcd kills etcd. The API server stays up and answers 500, or nothing, until StartEtcd.
func (c *Cluster) StopEtcd() error { return c.kill(&c.etcd) }

// CurrentRevision returns etcd's revision: the resource version of the newest
// write of any kind.
func (c *Cluster) CurrentRevision(ctx context.Context) (int64, error) {
	// A read of a key that does not exist: the answer's header has the revision.
	return c.etcdCall(ctx, "/v3/kv/range", map[string]string{"key": encode("conformance")})
}

// Compact makes etcd forget what lies before now. It first writes the key from which API servers
// learn that they compacted, as they do themselves; see the package comment for when each kind of
// request notices.
func (c *Cluster) Compact(ctx context.Context) error {
	now, err := c.CurrentRevision(ctx)
	if err != nil {
		return err
	}
	revision := strconv.FormatInt(now, 10)
	if _, err := c.etcdCall(ctx, "/v3/kv/put", map[string]string{"key": encode("compact_rev_key"), "value": encode(revision)}); err != nil {
		return err
	}
	_, err = c.etcdCall(ctx, "/v3/kv/compaction", map[string]any{"revision": revision, "physical": true})
	return err
}

// encode gives a key or value as etcd's JSON gateway takes it.
func encode(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// etcdCall calls etcd's JSON gateway (https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway/)
// and returns the revision in the answer's header.
func (c *Cluster) etcdCall(ctx context.Context, path string, body any) (int64, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return 0, fmt.Errorf("etcd %s: %w", path, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.etcdURL+path, bytes.NewReader(data))
	if err != nil {
		return 0, fmt.Errorf("etcd %s: %w", path, err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, fmt.Errorf("etcd %s: %w", path, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, fmt.Errorf("etcd %s: %w", path, err)
	}
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("etcd %s: %s: %s", path, resp.Status, bytes.TrimSpace(answer))
	}
	var parsed struct {
		Header struct {
			Revision int64 `json:"revision,string"`
		} `json:"header"`
	}
	if err := json.Unmarshal(answer, &parsed); err != nil {
		return 0, fmt.Errorf("etcd %s: %w", path, err)
	}
	return parsed.Header.Revision, nil
}

// DeleteStored deletes an object of the core group from etcd itself, past the API
// server; resource is its plural. While the API server is down, this is how
// an object vanishes unseen: the next server's watch cache never had it.
func (c *Cluster) DeleteStored(ctx context.Context, resource, namespace, name string) error {
	_, err := c.etcdCall(ctx, "/v3/kv/deleterange", map[string]string{
		"key": encode("/registry/" + resource + "/" + namespace + "/" + name),
	})
	return err
}

// SaveEtcd copies etcd's data, as a backup would, to a folder that does not exist
// yet. etcd must not run: what it has not written out is not in its files.
func (c *Cluster) SaveEtcd(dir string) error {
	return c.copyEtcd("save", dir, c.etcdDir())
}

// RestoreEtcd replaces etcd's data by what SaveEtcd saved. etcd must not run. An API server
// that runs meanwhile does not notice, and serves what it has cached: lists and watches of
// what is no more, until it is started again.
//
// The revision goes back to the one of the backup, and the next writes are given numbers that
// clients have seen before. `etcdutl snapshot restore` does the same unless it is told to bump the
// revision: https://etcd.io/docs/v3.6/op-guide/recovery/
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
