package deploy

import (
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/test/conformance/cluster"
	"github.com/relist-go/relist/test/conformance/command"
)

// TestRelaysAreAlike shows that the two manifests of a relay differ in what makes them two, and in
// nothing else.
func TestRelaysAreAlike(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "cmd", "deploy", name))
		must.OK(t, err)
		_, rest, _ := strings.Cut(string(text), "\napiVersion:")
		return rest
	}
	want := strings.NewReplacer(
		"kind: Deployment", "kind: DaemonSet", "  replicas: 2\n", "",
		"  ports:\n  - {name: https, port: 443", "  internalTrafficPolicy: Local # the relay of the same node, or none\n  ports:\n  - {name: https, port: 443",
	).Replace(read("relay.yaml"))
	if diff := cmp.Diff(want, read("relay-daemonset.yaml")); diff != "" {
		t.Errorf("-relay.yaml +relay-daemonset.yaml:\n%s", diff)
	}
	docs := strings.Split(read("relay-daemonset.yaml"), "\n---\n")
	var set appsv1.DaemonSet
	var service corev1.Service
	must.OK(t, yaml.UnmarshalStrict([]byte(docs[len(docs)-2]), &set))
	must.OK(t, yaml.UnmarshalStrict([]byte(docs[len(docs)-1]), &service))
	if service.Spec.InternalTrafficPolicy == nil || *service.Spec.InternalTrafficPolicy != corev1.ServiceInternalTrafficPolicyLocal {
		t.Error("the Service leads to other nodes")
	}
}

// TestRelayManifests applies both manifests, and runs the container's command with the rights that
// they give. kubectl reads through the relay, as a service account that may read one namespace.
func TestRelayManifests(t *testing.T) {
	t.Parallel()
	for manifest, kind := range map[string]string{"relay.yaml": "deployment", "relay-daemonset.yaml": "daemonset"} {
		t.Run(manifest, func(t *testing.T) {
			t.Parallel()
			d := &deployment{
				T: t, cluster: cluster.New(t, cluster.Options{}), manifest: filepath.Join("..", "..", "..", "cmd", "deploy", manifest),
				name: "relay", namespace: "relist", everywhere: true,
			}
			d.kubectl("", "create", "namespace", "relist")
			d.kubectl("", "label", "namespace", "relist", "pod-security.kubernetes.io/enforce=restricted")
			d.applied()
			if kind == "deployment" {
				d.podIsAdmitted()
			}
			d.relayServes(kind)
		})
	}
}

// relayServes runs the container's command, and reads through it.
func (d *deployment) relayServes(kind string) {
	d.Helper()
	var set appsv1.DaemonSet // as a Deployment, as far as this test looks
	d.get(kind, &set)
	spec := set.Spec.Template.Spec
	volumes := d.TempDir()
	d.certificate(filepath.Join(volumes, "tls"))
	must.OK(d.T, os.Mkdir(filepath.Join(volumes, "window"), 0o700))
	args := append(slices.Clone(spec.Containers[0].Args), "--kubeconfig", d.kubeconfig(spec.ServiceAccountName))
	for i := range args {
		args[i] = strings.NewReplacer("=:8443", "=127.0.0.1:0", "=/tls", "="+volumes+"/tls", "=/window", "="+volumes+"/window").Replace(args[i])
	}
	relay := command.Start(d.T, args...)
	var url string
	relay.Await(func(stdout []byte) (string, bool) {
		_, rest, ok := strings.Cut(string(stdout), "serving ")
		url = strings.TrimSpace(rest)
		return "the address", ok && strings.HasSuffix(rest, "\n")
	})

	d.kubectl("", "create", "namespace", "shop")
	d.kubectl("", "create", "configmap", "first", "-n", "shop")
	d.kubectl("", "create", "serviceaccount", "agent", "-n", "shop")
	d.kubectl("", "create", "role", "agent", "--verb=get,list,watch", "--resource=configmaps", "-n", "shop")
	d.kubectl("", "create", "rolebinding", "agent", "--role=agent", "--serviceaccount=shop:agent", "-n", "shop")
	token := strings.TrimSpace(d.kubectl("", "create", "token", "agent", "-n", "shop"))
	program, err := cluster.FindProgram("kubectl")
	must.OK(d.T, err)
	through := func(args ...string) (string, error) {
		cmd := exec.CommandContext(d.Context(), program, append(args, "--server", url, "--insecure-skip-tls-verify", "--token", token, "--kubeconfig", os.DevNull)...)
		cmd.Env = append(os.Environ(), "HOME="+d.TempDir())
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	poll(d.T, "the relay", func() bool { return strings.Count(string(relay.Stderr()), "listed") == 2 })
	if out, err := through("get", "configmaps", "-n", "shop"); err != nil || !strings.Contains(out, "first") {
		d.Errorf("kubectl get: %v %s", err, out)
	}
	for _, args := range [][]string{
		{"get", "configmaps", "-A"},
		{"get", "configmaps", "-n", "default"},
		{"get", "pods", "-n", "shop"},
		{"get", "secrets", "-n", "shop"},
		{"delete", "configmap", "first", "-n", "shop"},
		{"get", "configmaps", "-n", "shop", "--as", "system:serviceaccount:relist:relay"},
	} {
		if out, err := through(args...); err == nil || !strings.Contains(out, "orbidden") && !strings.Contains(out, "MethodNotAllowed") {
			d.Errorf("kubectl %q: %v %s", args, err, out)
		}
	}
	watching := make(chan string, 1)
	go func() {
		out, _ := through("get", "configmaps", "-n", "shop", "--watch", "--output-watch-events", "-o", "name", "--request-timeout=15s") // the time ends it
		watching <- out
	}()
	<-time.After(3 * time.Second)
	d.kubectl("", "create", "configmap", "second", "-n", "shop")
	if out := <-watching; !strings.Contains(out, "configmap/first") || !strings.Contains(out, "configmap/second") {
		d.Errorf("kubectl get --watch: %s", out)
	}
	d.kubectl("", "delete", "rolebinding", "agent", "-n", "shop")
	relay.Interrupt()
}

// certificate writes a certificate and its key, as the Secret of the manifest has them.
func (d *deployment) certificate(dir string) {
	d.Helper()
	server := httptest.NewTLSServer(nil) // which makes one
	server.Close()
	cert := server.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	must.OK(d.T, err)
	must.OK(d.T, os.Mkdir(dir, 0o700))
	for name, block := range map[string]*pem.Block{"tls.crt": {Type: "CERTIFICATE", Bytes: cert.Certificate[0]}, "tls.key": {Type: "PRIVATE KEY", Bytes: key}} {
		must.OK(d.T, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600))
	}
}
