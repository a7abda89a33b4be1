package transport

import "testing"

// FuzzKubeconfig reads any bytes. What it accepts must be a Config with a server.
func FuzzKubeconfig(f *testing.F) {
	f.Add([]byte(exampleKubeconfig), "")
	f.Add([]byte(exampleKubeconfig), "prod")
	f.Add([]byte("contexts: [{name: a, context: {cluster: a}}]\nclusters: [{name: a, cluster: {server: x}}]\n"), "a")
	f.Add([]byte("contexts: {}"), "")
	f.Add([]byte("{"), "a")
	f.Fuzz(func(t *testing.T, data []byte, context string) {
		cfg, err := parseKubeconfig(data, "/dir", context)
		if err == nil && cfg.Server == "" {
			t.Error("accepted without a server")
		}
		if err != nil && err.Error() == "" {
			t.Error("an error that says nothing")
		}
	})
}
