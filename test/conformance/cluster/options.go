package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Options says how to start a cluster. The zero value is ready.
type Options struct {
	// BinDir is the folder that holds the programs etcd and kube-apiserver.
	// If empty, the folders bin and test/conformance/bin of the working directory and of each
	// folder above it are tried in turn.
	BinDir string

	// Dir is the folder for data, certificates, logs and the kubeconfig. It is made if missing, and
	// kept. If empty, a temporary folder is used, and removed by Stop.
	Dir string

	// APIServerFlags are given to kube-apiserver after the flags that this
	// package sets, so that they win: "--goaway-chance=0.02".
	APIServerFlags []string

	// EtcdFlags are given to etcd, likewise.
	EtcdFlags []string

	// StartTimeout bounds each start of a program, until it answers.
	// If zero, 2 minutes. If negative, only the context bounds it.
	StartTimeout time.Duration
}

// Uncached is the API server's flag that has etcd itself serve the lists and
// watches of some resources, without the watch cache: "configmaps",
// "deployments.apps". See the package comment for what that is good for.
func Uncached(resources ...string) string {
	flag := "--watch-cache-sizes="
	for i, r := range resources {
		if i > 0 {
			flag += ","
		}
		flag += r + "#0"
	}
	return flag
}

func (o Options) startTimeout() time.Duration {
	if o.StartTimeout == 0 {
		return 2 * time.Minute
	}
	return o.StartTimeout
}

// FindProgram returns the path of a program that the conformance suite builds:
// etcd, kube-apiserver or kubectl. It looks in the folders bin and
// test/conformance/bin of the working directory and of each folder above it, so that
// it works from any package of the module and from the top of the repository.
func FindProgram(name string) (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find %s: %w", name, err)
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		for _, sub := range []string{"bin", filepath.Join("conformance", "bin")} {
			path := filepath.Join(dir, sub, name)
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				return path, nil
			}
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("find %s: no test/conformance/bin/%s above %s: run `make conformance-bin` once, at the top of the repository", name, name, wd)
		}
	}
}

// program returns the path of a program, from o.BinDir if that is set.
func (o Options) program(name string) (string, error) {
	if o.BinDir == "" {
		return FindProgram(name)
	}
	path, err := filepath.Abs(filepath.Join(o.BinDir, name))
	if err != nil {
		return "", fmt.Errorf("find %s: %w", name, err)
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("find %s: %w", name, err)
	}
	return path, nil
}
