package transport

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestInClusterOutsideOfOne(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, err := InCluster(); !errors.Is(err, ErrNotInCluster) {
		t.Errorf("error %v, want ErrNotInCluster", err)
	}
}

func TestInCluster(t *testing.T) {
	dir := t.TempDir()
	env := map[string]string{}
	getenv := func(name string) string { return env[name] }
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := inCluster(dir, getenv); !errors.Is(err, ErrNotInCluster) {
		t.Fatalf("outside of a cluster: error %v", err)
	}
	env["KUBERNETES_SERVICE_HOST"], env["KUBERNETES_SERVICE_PORT"] = "fd00::1", "443"
	_, err := inCluster(dir, getenv)
	checkError(t, err, filepath.Join(dir, "token"))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want one that is os.ErrNotExist", err)
	}

	write("token", "t")
	write("ca.crt", "ca")
	cfg, err := inCluster(dir, getenv)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Server != "https://[fd00::1]:443" || cfg.Namespace != "" {
		t.Errorf("server %q, namespace %q", cfg.Server, cfg.Namespace)
	}
	write("namespace", "shop\n")
	cfg, err = inCluster(dir, getenv)
	if err != nil || cfg.Namespace != "shop" {
		t.Errorf("namespace %q, error %v", cfg.Namespace, err)
	}
	if cfg.BearerTokenFile != filepath.Join(dir, "token") || cfg.BearerToken != "" {
		t.Errorf("token file %q: the token must stay in its file", cfg.BearerTokenFile)
	}
}
