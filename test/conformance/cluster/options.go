package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Options says how to start a cluster. The zero value is ready.
type Options struct {
	// Dir is the folder for data, certificates, logs and the kubeconfig. It is made if missing, and
	// kept. If empty, a temporary folder is used, and removed by Stop.
	Dir string

	// APIServerFlags are given to kube-apiserver after the flags that this
	// package sets, so that they win: "--goaway-chance=0.02".
	APIServerFlags []string

	// EtcdFlags are given to etcd, likewise.
	EtcdFlags []string
}

// Uncached is the API server's flag that has etcd itself serve the lists and
// watches of some resources, without the watch cache: "configmaps",
// "deployments.apps". See the package comment for what that is good for.
func Uncached(resources ...string) string {
	return "--watch-cache-sizes=" + strings.Join(resources, "#0,") + "#0"
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
