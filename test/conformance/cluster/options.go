package cluster

import "time"

// Options says how to start a cluster. The zero value is ready.
type Options struct {
	// BinDir is the folder that holds the programs etcd and kube-apiserver.
	// If empty, the folders bin and test/conformance/bin of the working directory and of each
	// folder above it are tried in turn.
	BinDir string

	// Dir is the folder for data, certificates, logs and the kubeconfig. It is made if missing, and kept.
	// If empty, a temporary folder is used, and removed by Stop.
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
