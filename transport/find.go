package transport

import "os"

// FromKubeconfig returns a client of the cluster that the program is meant for. It takes the first
// of these that is there:
//
//  1. the server or the kubeconfig that opts name, if they are not empty
//  2. the kubeconfig of the KUBECONFIG environment variable
//  3. the credentials of the pod that the program runs in: [InCluster]
//  4. ~/.kube/config
//
// So a program needs no flag to run on a desk and in a pod. Controllers look in this order:
// https://pkg.go.dev/sigs.k8s.io/controller-runtime/pkg/client/config#GetConfig
//
// FromKubeconfig sends nothing. A program that changes the Config uses [LoadKubeconfig] or
// [InCluster], and [NewClient].
func FromKubeconfig(opts KubeconfigOptions) (*Client, error) {
	cfg, err := findConfig(opts, serviceAccountDir, os.Getenv)
	if err != nil {
		return nil, err
	}
	return NewClient(cfg)
}

func findConfig(opts KubeconfigOptions, dir string, getenv func(string) string) (Config, error) {
	named := opts != KubeconfigOptions{} || getenv("KUBECONFIG") != ""
	if !named && getenv("KUBERNETES_SERVICE_HOST") != "" {
		return inCluster(dir, getenv)
	}
	return LoadKubeconfig(opts)
}
