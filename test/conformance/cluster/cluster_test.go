package cluster_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/relist-go/relist/test/conformance/cluster"
)

// TestCluster shows, on one cluster, that the harness does what its package
// comment says. ConfigMaps go through the watch cache; Secrets do not.
func TestCluster(t *testing.T) {
	var c *cluster.Cluster
	t.Cleanup(func() { stopped(t, c) }) // after that of New, which stops it
	c = cluster.New(t, cluster.Options{APIServerFlags: []string{cluster.Uncached("secrets")}})

	t.Run("objects are created, listed and watched", func(t *testing.T) {
		cl := newClient(t, c)
		_, list := cl.call(http.MethodGet, "/api/v1/namespaces/default/configmaps", "")
		next := cl.watch("configmaps", list.Metadata.ResourceVersion)
		cl.create("configmaps", "one")
		cl.added(next, "one")
		_, list = cl.call(http.MethodGet, "/api/v1/namespaces/default/configmaps", "")
		if len(list.Items) == 0 {
			t.Error("the list after the creation is empty")
		}
	})

	t.Run("credentials differ in rights", func(t *testing.T) {
		for _, tt := range []struct {
			name, token string
			want        int
		}{
			{"administrator", c.Access().AdminToken, http.StatusOK},
			{"powerless", c.Access().PowerlessToken, http.StatusForbidden},
			{"unknown", "no-such-token", http.StatusUnauthorized},
		} {
			cl := newClient(t, c)
			cl.token = tt.token
			if status, obj := cl.call(http.MethodGet, "/api/v1/secrets", ""); status != tt.want {
				t.Errorf("%s: %d %s, want %d", tt.name, status, obj.Message, tt.want)
			}
		}
	})

	t.Run("compaction expires watches and continue tokens of what is not cached", func(t *testing.T) {
		cl := newClient(t, c)
		old := cl.create("secrets", "one")
		cl.create("secrets", "two")
		_, page := cl.call(http.MethodGet, "/api/v1/namespaces/default/secrets?limit=1", "")
		cl.create("secrets", "three")

		revision, err := c.Compact(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		now, err := c.CurrentRevision(t.Context())
		if err != nil || revision > now {
			t.Fatalf("compacted to %d, now at %d, %v", revision, now, err)
		}

		cl.expired(cl.watch("secrets", old))
		for _, query := range []string{
			"limit=1&continue=" + page.Metadata.Continue,
			"resourceVersionMatch=Exact&resourceVersion=" + old,
		} {
			status, obj := cl.call(http.MethodGet, "/api/v1/namespaces/default/secrets?"+query, "")
			if status != http.StatusGone || obj.Reason != "Expired" {
				t.Errorf("%s: %d %s, want 410 Expired", query, status, obj.Message)
			}
		}
	})

	t.Run("compaction does not reach the window of what is cached, a restart does", func(t *testing.T) {
		cl := newClient(t, c)
		old := cl.create("configmaps", "before")
		cl.create("configmaps", "between")
		if _, err := c.Compact(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		live := cl.watch("configmaps", old)
		cl.added(live, "between")

		if err := c.KillAPIServer(); err != nil {
			t.Fatal(err)
		}
		if e, err := live(); err == nil {
			t.Errorf("the watch outlived the server: %+v", e)
		}
		if _, _, err := cl.try(t.Context(), http.MethodGet, "/readyz", ""); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("while the server is down: %v, want connection refused", err)
		}
		if err := c.StartAPIServer(t.Context()); err != nil {
			t.Fatal(err)
		}
		cl.expired(cl.watch("configmaps", old))
	})

	t.Run("a paused server keeps its connections and answers nothing", func(t *testing.T) {
		cl := newClient(t, c)
		next := cl.watch("configmaps", cl.create("configmaps", "pause"))
		if err := c.PauseAPIServer(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if status, _, err := cl.try(ctx, http.MethodGet, "/api/v1/namespaces/default", ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("while paused: %d %v, want no answer", status, err)
		}
		if err := c.ResumeAPIServer(); err != nil {
			t.Fatal(err)
		}
		cl.create("configmaps", "resume")
		cl.added(next, "resume")
	})

	t.Run("etcd comes back with its data", func(t *testing.T) {
		cl := newClient(t, c)
		before, err := c.CurrentRevision(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		backup := filepath.Join(t.TempDir(), "backup")
		if err := c.SaveEtcd(backup); err == nil {
			t.Error("etcd was saved while it ran")
		}
		if err := c.RestoreEtcd(t.TempDir()); err == nil {
			t.Error("etcd was restored while it ran")
		}
		if err := c.StopEtcd(); err != nil {
			t.Fatal(err)
		}
		if err := c.RestoreEtcd(backup); err == nil {
			t.Error("etcd was restored from a backup that was never made")
		}
		if _, err := c.CurrentRevision(t.Context()); err == nil {
			t.Error("etcd answers after StopEtcd")
		}
		if err := errors.Join(c.SaveEtcd(backup), c.RestoreEtcd(backup)); err != nil {
			t.Fatal(err)
		}
		if err := c.StartEtcd(t.Context()); err != nil {
			t.Fatal(err)
		}
		if after, err := c.CurrentRevision(t.Context()); err != nil || after < before {
			t.Errorf("revision %d before, %d after, %v", before, after, err)
		}
		if status, obj := cl.call(http.MethodGet, "/api/v1/namespaces/default/secrets/one", ""); status != http.StatusOK {
			t.Errorf("read through the API server: %d %s", status, obj.Message)
		}
	})

	t.Run("the kubeconfig names three users", func(t *testing.T) {
		data, err := os.ReadFile(c.Kubeconfig())
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{c.Access().URL, "name: admin\n", "name: admin-cert\n", "name: powerless\n"} {
			if !strings.Contains(string(data), want) {
				t.Errorf("kubeconfig lacks %q:\n%s", want, data)
			}
		}
	})
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
	_, err = cluster.Start(t.Context(), cluster.Options{BinDir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "find etcd") {
		t.Errorf("got %v, want that etcd is missing", err)
	}
}
