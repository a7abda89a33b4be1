package kubectl

import (
	"testing"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/test/conformance/cluster"
)

// apitestShell starts our server. Its address is all that kubectl is told.
func apitestShell(t *testing.T) *shell {
	t.Helper()
	s := apitest.New(apitest.Options{})
	listener, err := s.Listen("127.0.0.1:0")
	must.OK(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return newShell(t, "--server="+listener.URL)
}

// realShell starts kube-apiserver.
func realShell(t *testing.T) *shell {
	t.Helper()
	return newShell(t, "--kubeconfig="+cluster.New(t, cluster.Options{}).Kubeconfig())
}
