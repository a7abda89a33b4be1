package transport

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// KubeconfigOptions says which file, and which of its contexts.
type KubeconfigOptions struct {
	// Path of the file. If empty, the files of the list in the KUBECONFIG environment
	// variable, merged: what an earlier file has under a name, and its
	// current-context, wins over a later one, and a file that does not exist is
	// skipped. If that is empty too, ~/.kube/config.
	Path string

	// Context is the name of a context. If empty, the current-context.
	Context string
}

// LoadKubeconfig returns the Config of one context of a kubeconfig. Relative paths in
// a file are relative to its folder. If a user has both a program (exec) and another
// credential, the program is not run, as kubectl does not run it. An auth-provider is
// an error, not ignored. The format, and how files are merged:
// https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
// https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
func LoadKubeconfig(opts KubeconfigOptions) (Config, error) {
	paths, named, err := kubeconfigPaths(opts.Path)
	if err != nil {
		return Config{}, fmt.Errorf("kubeconfig: %w", err)
	}
	var merged kubeconfig
	var read []string
	for _, path := range paths {
		file, err := readKubeconfig(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !named:
			continue
		case errors.Is(err, fs.ErrNotExist):
			return Config{}, fmt.Errorf("kubeconfig: %w", err)
		case err != nil:
			return Config{}, fmt.Errorf("kubeconfig %s: %w", path, err)
		}
		merged.add(file)
		read = append(read, path)
	}
	if len(read) == 0 {
		return Config{}, fmt.Errorf("kubeconfig: no file of KUBECONFIG=%s exists: %w", os.Getenv("KUBECONFIG"), fs.ErrNotExist)
	}
	cfg, err := merged.config(opts.Context)
	if err != nil {
		return Config{}, fmt.Errorf("kubeconfig %s: %w", joinPaths(read), err)
	}
	return cfg, nil
}

// kubeconfigPaths returns the files to merge, first wins. The one that is named, by
// the caller or by its place, has to exist; those of a list need not.
func kubeconfigPaths(path string) (paths []string, named bool, err error) {
	if path != "" {
		return []string{path}, true, nil
	}
	if list := os.Getenv("KUBECONFIG"); list != "" {
		for _, p := range filepath.SplitList(list) {
			if p != "" && !slices.Contains(paths, p) {
				paths = append(paths, p)
			}
		}
		return paths, false, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, false, fmt.Errorf("no path is given, KUBECONFIG is empty, and %w", err)
	}
	return []string{filepath.Join(home, ".kube", "config")}, true, nil
}

// readKubeconfig reads one file.
func readKubeconfig(path string) (kubeconfig, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return kubeconfig{}, err
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return kubeconfig{}, err
	}
	return decodeKubeconfig(data, dir)
}

// joinPaths is for messages.
func joinPaths(paths []string) string {
	text := paths[0]
	for _, p := range paths[1:] {
		text += string(filepath.ListSeparator) + p
	}
	return text
}
