package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/test/conformance/cluster"
)

// TestOperator runs two replicas of examples/operator, with the rights that its manifest gives.
func TestOperator(t *testing.T) {
	t.Parallel()
	example := filepath.Join("..", "..", "..", "examples", "operator")
	d := &deployment{
		T: t, cluster: cluster.New(t, cluster.Options{}), manifest: filepath.Join(example, "operator.yaml"),
		name: "shop-operator", namespace: "shop-system", everywhere: true,
	}
	d.kubectl("", "apply", "--validate=strict", "-f", filepath.Join(example, "crd.yaml"))
	d.applied()
	program := filepath.Join(t.TempDir(), "operator")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = example
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	first := d.replica(program)
	poll(t, "a leader", func() bool { _, err := d.try("", "get", "lease", d.name, "-n", d.namespace); return err == nil })
	d.replica(program)

	d.kubectl("", "create", "namespace", "town")
	shop := func(name, port string) {
		d.kubectl(`{"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"namespace": "town", "name": "`+name+`"}, "spec": {"port": `+port+`}}`, "apply", "-f", "-")
	}
	described := func(name, want string) {
		t.Helper()
		poll(t, name+" has the Event "+want, func() bool {
			_, events, _ := strings.Cut(d.kubectl("", "describe", "shop", name, "-n", "town"), "Events:")
			return strings.Contains(events, want)
		})
	}
	shop("bakery", "8080")
	described("bakery", "sells on port 8080")
	shop("corner.shop", "8080")
	described("corner.shop", "must not contain dots")

	must.OK(t, first.Process.Signal(os.Interrupt))
	must.OK(t, first.Wait())
	shop("bakery", "9090")
	described("bakery", "sells on port 9090")
	if port := d.kubectl("", "get", "service", "bakery", "-n", "town", "-o", "jsonpath={.spec.ports[*].targetPort}"); port != "9090" {
		t.Errorf("the port is %s", port)
	}
	d.kubectl("", "delete", "shop", "--all", "-n", "town", "--timeout", patience.String()) // waits for the finalizers
	if out, err := d.try("", "get", "configmap", "town.bakery", "-n", d.namespace); err == nil || !strings.Contains(out, "NotFound") {
		t.Errorf("the entry of a Shop that is gone: %v %s", err, out)
	}
}

// replica starts the program as its Pod would.
func (d *deployment) replica(program string) *exec.Cmd {
	d.Helper()
	cmd := exec.CommandContext(d.Context(), program, "--probes", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+d.kubeconfig(d.template().Spec.ServiceAccountName))
	must.OK(d.T, cmd.Start())
	d.Cleanup(func() { _ = cmd.Wait() }) // it was killed
	return cmd
}
