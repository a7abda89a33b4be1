package deploy

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/test/conformance/cluster"
	"github.com/relist-go/relist/test/conformance/command"
)

// patience bounds every wait for something that must happen. It is only spent when a test fails.
const patience = time.Minute

func TestMain(m *testing.M) { command.Main(m) }

// deployment is one manifest, applied.
type deployment struct {
	*testing.T
	cluster    *cluster.Cluster
	manifest   string
	name       string // of everything in it
	namespace  string
	everywhere bool // it reads all namespaces
}

// TestManifests applies each manifest to a server of its own.
func TestManifests(t *testing.T) {
	for _, tt := range []struct {
		manifest   string
		namespace  string
		everywhere bool
	}{
		{"namespaced.yaml", "web", false},
		{"cluster-wide.yaml", "relist", true},
	} {
		t.Run(tt.manifest, func(t *testing.T) {
			t.Parallel()
			d := &deployment{
				T: t, cluster: cluster.New(t, cluster.Options{}), manifest: filepath.Join("..", "..", "..", "cmd", "deploy", tt.manifest),
				name: "relist", namespace: tt.namespace, everywhere: tt.everywhere,
			}
			d.kubectl("", "create", "namespace", "elsewhere")
			if !tt.everywhere {
				d.kubectl("", "create", "namespace", tt.namespace)
				d.kubectl("", "label", "namespace", tt.namespace, "pod-security.kubernetes.io/enforce=restricted")
			}
			d.applied()
			d.podIsAdmitted()
			d.mirrorRuns()
			d.nothingMore()
			d.eachVerbIsNeeded()
		})
	}
}

// kubectl runs kubectl as the administrator, in the manifest's namespace unless args name
// another. It must succeed.
func (d *deployment) kubectl(stdin string, args ...string) string {
	d.Helper()
	out, err := d.try(stdin, args...)
	if err != nil {
		d.Fatalf("kubectl %q: %v\n%s", args, err, out)
	}
	return out
}

func (d *deployment) try(stdin string, args ...string) (string, error) {
	d.Helper()
	program, err := cluster.FindProgram("kubectl")
	if err != nil {
		d.Fatal(err)
	}
	cmd := exec.CommandContext(d.Context(), program, append(args, "--kubeconfig", d.cluster.Kubeconfig())...)
	cmd.Env = append(os.Environ(), "HOME="+d.TempDir())
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (d *deployment) get(kind string, into any) {
	d.Helper()
	text := d.kubectl("", "get", kind, d.name, "-n", d.namespace, "-o", "json")
	if err := json.Unmarshal([]byte(text), into); err != nil {
		d.Fatal(err)
	}
}

// apply applies the manifest as its first lines say.
func (d *deployment) apply() string {
	d.Helper()
	args := []string{"apply", "--validate=strict", "-f", d.manifest}
	if !d.everywhere {
		args = append(args, "--namespace", d.namespace)
	}
	return d.kubectl("", args...)
}

// applied applies the manifest twice: the server takes it without a warning, and fills in
// nothing that makes it differ.
func (d *deployment) applied() {
	d.Helper()
	if out := d.apply(); strings.Count(out, " created\n") < 5 || strings.Contains(out, "Warning") {
		d.Errorf("apply: %s", out)
	}
	out := d.apply()
	for line := range strings.Lines(out) {
		if !strings.HasSuffix(line, " unchanged\n") {
			d.Errorf("apply again: %s", line)
		}
	}
}

// podIsAdmitted makes the Pod that the Deployment's controller would make, in a namespace
// that takes none but restricted ones.
func (d *deployment) podIsAdmitted() {
	d.Helper()
	template := d.template()
	pod := corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: "relist", Namespace: d.namespace, Labels: template.Labels},
		Spec:       template.Spec,
	}
	d.kubectl(asJSON(d.T, pod), "create", "-f", "-")
	pod.Name = "root"
	pod.Spec.SecurityContext.RunAsNonRoot = nil
	if out, err := d.try(asJSON(d.T, pod), "create", "-f", "-"); err == nil || !strings.Contains(out, "violates PodSecurity") {
		d.Errorf("a Pod that may be root is admitted, so that nothing was shown: %v %s", err, out)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	must.OK(t, err)
	return string(text)
}

func (d *deployment) template() corev1.PodTemplateSpec {
	d.Helper()
	var deployment appsv1.Deployment
	d.get("deployment", &deployment)
	return deployment.Spec.Template
}

// args is what follows `relist mirror` in the container's command line, with the Pod's credential
// and a free port.
func (d *deployment) args() []string {
	d.Helper()
	spec := d.template().Spec
	if len(spec.Containers) != 1 || len(spec.Containers[0].Command) > 0 {
		d.Fatal("want one container, which runs the image's program")
	}
	if spec.Containers[0].Args[0] != "mirror" {
		d.Fatalf("the arguments are %q, want those of mirror", spec.Containers[0].Args)
	}
	args := slices.Clone(spec.Containers[0].Args[1:])
	port := slices.Index(args, fmt.Sprintf("--status-listen=:%d", spec.Containers[0].Ports[0].ContainerPort))
	if port < 0 {
		d.Fatalf("%q does not listen on the port of the probes", args)
	}
	args[port] = "--status-listen=127.0.0.1:0"
	return append(args, "--kubeconfig", d.kubeconfig(spec.ServiceAccountName))
}

// kubeconfig has what a Pod finds in /var/run/secrets/kubernetes.io/serviceaccount.
func (d *deployment) kubeconfig(account string) string {
	d.Helper()
	dir := d.TempDir()
	token := filepath.Join(dir, "token")
	must.OK(d.T, os.WriteFile(token, []byte(strings.TrimSpace(d.kubectl("", "create", "token", account, "-n", d.namespace))), 0o600))
	path := filepath.Join(dir, "kubeconfig")
	must.OK(d.T, os.WriteFile(path, fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: pod
clusters: [{name: c, cluster: {server: %q, certificate-authority: %q}}]
users: [{name: u, user: {tokenFile: %q}}]
contexts: [{name: pod, context: {cluster: c, user: u, namespace: %q}}]
`, d.cluster.Access().URL, d.cluster.Access().CAFile, token, d.namespace), 0o600))
	return path
}

// mirrorRuns runs the container's command: it synchronizes, follows, answers the probes,
// and ends within the grace period.
func (d *deployment) mirrorRuns() {
	d.Helper()
	spec := d.template().Spec
	d.kubectl("", "create", "configmap", "before", "-n", d.namespace)
	m := command.StartMirror(d.T, d.args()...)
	is := func(kind, key string) func([]command.Line) bool {
		return func(lines []command.Line) bool {
			return slices.ContainsFunc(lines, func(l command.Line) bool { return l.Kind == kind && l.Key == key })
		}
	}
	m.AwaitLines("synced", is("synced", ""))
	for _, probe := range []*corev1.Probe{spec.Containers[0].StartupProbe, spec.Containers[0].ReadinessProbe, spec.Containers[0].LivenessProbe} {
		if probe == nil || probe.HTTPGet.Port.String() != spec.Containers[0].Ports[0].Name {
			d.Fatalf("the probe %v does not name the port", probe)
		}
		if code, body := d.ask(m.Command, probe.HTTPGet.Path); code != http.StatusOK {
			d.Errorf("%s: %d %s", probe.HTTPGet.Path, code, body)
		}
	}
	d.kubectl("", "create", "configmap", "after", "-n", d.namespace)
	m.AwaitLines("a change", is("delta", d.namespace+"/after"))
	d.kubectl("", "create", "configmap", "there", "-n", "elsewhere")
	if d.everywhere {
		m.AwaitLines("a change elsewhere", is("delta", "elsewhere/there"))
	}
	began := time.Now()
	if last := m.Summary(); last.Relists != 0 || last.Lists != 1 {
		d.Errorf("%d lists, %d relists", last.Lists, last.Relists)
	}
	if grace := time.Duration(*spec.TerminationGracePeriodSeconds) * time.Second; time.Since(began) > grace/2 {
		d.Errorf("it took %v to end, of a grace period of %v", time.Since(began), grace)
	}
	if !d.everywhere && is("delta", "elsewhere/there")(m.Lines) {
		d.Error("it read another namespace")
	}
}

// ask sends a GET to the status of a command.
func (d *deployment) ask(c *command.Command, path string) (code int, body string) {
	d.Helper()
	var url string
	poll(d.T, "the address of the status", func() bool {
		_, rest, ok := strings.Cut(string(c.Stderr()), "status on ")
		url, _, _ = strings.Cut(rest, "/status\n")
		return ok
	})
	req, err := http.NewRequestWithContext(d.Context(), http.MethodGet, url+path, http.NoBody)
	must.OK(d.T, err)
	resp, err := http.DefaultClient.Do(req)
	must.OK(d.T, err)
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	must.OK(d.T, err)
	return resp.StatusCode, string(all)
}

// poll asks until holds is true.
func poll(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	timeout := time.After(patience)
	for !holds() {
		select {
		case <-ticker.C:
		case <-timeout:
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}
