package deploy

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/relist-go/relist/test/conformance/cluster"
)

// TestSQLManifests applies the manifests of relist-sql to a server of its own, and runs the
// container's command with the service account's token, until it has copied everything: to a file
// here, whatever the database.
func TestSQLManifests(t *testing.T) {
	program := filepath.Join(t.TempDir(), "relist-sql")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = "../../../cmd/relist-sql"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	c := cluster.New(t, cluster.Options{})
	for _, name := range []string{"sqlite", "postgres"} {
		t.Run(name, func(t *testing.T) {
			d := &deployment{
				T: t, cluster: c, manifest: filepath.Join("..", "..", "..", "cmd", "deploy", name+".yaml"),
				name: "relist-" + name, namespace: "relist-" + name, everywhere: true,
			}
			d.applied()
			d.podIsAdmitted()
			d.kubectl("", "create", "configmap", "there", "-n", d.namespace)
			file := filepath.Join(t.TempDir(), "copy.db")
			args := d.args()
			to := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--to=") })
			if to < 0 {
				t.Fatalf("%q names no database", args)
			}
			args[to] = "--to=sqlite:" + file
			args = append([]string{"mirror", "--once"}, slices.DeleteFunc(args, func(arg string) bool { return arg == "--standby" })...)
			if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
				t.Fatalf("%q: %v\n%s", args, err, out)
			}
			out, err := exec.CommandContext(t.Context(), program, "query", file, "-o", "csv",
				"SELECT count(*) FROM configmaps WHERE key = '"+d.namespace+"/there'").CombinedOutput()
			if err != nil || !strings.HasSuffix(string(out), "\n1\r\n") {
				t.Errorf("%v: %s", err, out)
			}
			for _, want := range []string{"does not permit this (403)", "allow the verb get on the namespace kube-system"} {
				d.kubectl("", "patch", "clusterrole", d.name, "--type=json", "-p", `[{"op":"remove","path":"/rules/0"}]`)
				poll(t, "a refusal", func() bool {
					out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
					return err != nil && strings.Contains(string(out), want)
				})
			}
		})
	}
}
