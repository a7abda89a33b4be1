package cluster

import (
	"fmt"
	"os"
	"path/filepath"
)

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
