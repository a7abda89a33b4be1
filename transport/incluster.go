package transport

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// ErrNotInCluster is the error of [InCluster] outside of a pod.
var ErrNotInCluster = errors.New("not in a cluster: KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT is not set")

// serviceAccountDir is where the kubelet puts a pod's credentials:
// https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/
const serviceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// InCluster returns the Config of a pod, from its environment and its service
// account. The token stays in its file, which is rotated.
func InCluster() (Config, error) {
	return inCluster(serviceAccountDir, os.Getenv)
}

func inCluster(dir string, getenv func(string) string) (Config, error) {
	host, port := getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return Config{}, ErrNotInCluster
	}
	cfg := Config{
		Server:          "https://" + net.JoinHostPort(host, port),
		BearerTokenFile: filepath.Join(dir, "token"),
		TLS:             TLSConfig{CAFile: filepath.Join(dir, "ca.crt")},
	}
	for _, path := range []string{cfg.BearerTokenFile, cfg.TLS.CAFile} {
		if _, err := os.Stat(path); err != nil {
			return Config{}, fmt.Errorf("in-cluster config: %w (is automountServiceAccountToken off?)", err)
		}
	}
	namespace, err := os.ReadFile(filepath.Join(dir, "namespace"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return Config{}, fmt.Errorf("in-cluster config: %w", err)
	}
	cfg.Namespace = strings.TrimSpace(string(namespace))
	return cfg, nil
}
