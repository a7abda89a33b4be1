package kubectl

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A step is one command, by its arguments, and what it reads.
type step struct {
	args  string
	stdin string
}

// script is done in order: later steps see what earlier ones left.
var script = []step{
	{args: "get configmaps"},
	{args: "create -f -", stdin: configMap("a", "{k: '1'}")},
	{args: "create -f -", stdin: configMap("a", "{k: '1'}")}, // exists
	{args: "get configmaps"},
	{args: "get cm a -o yaml"},
	{args: "get configmap/missing"},
	{args: "get nosuchthing"},

	// apply: created, unchanged, configured, and a key that is taken away again.
	{args: "apply -f -", stdin: configMap("b", "{x: '1', y: '1'}")},
	{args: "apply -f -", stdin: configMap("b", "{x: '1', y: '1'}")},
	{args: "apply -f -", stdin: configMap("b", "{x: '2', y: '1'}")},
	{args: "get cm b -o jsonpath={.data}"},
	{args: "apply -f -", stdin: configMap("b", "{x: '2'}")},
	{args: "get cm b -o jsonpath={.data}"},
	{args: "get cm b -o yaml"},
	{args: "apply --dry-run=server -f -", stdin: configMap("b", "{x: '3'}")},
	{args: "get cm b -o jsonpath={.data}"},

	// A type that the server does not have.
	{args: "apply -f -", stdin: "{apiVersion: nosuch.example.com/v1, kind: Gadget, metadata: {name: g}}"},
	{args: "create -f -", stdin: "{apiVersion: v1, kind: Gadget, metadata: {name: g}}"},

	// A list that is merged by its elements' names.
	{args: "apply --server-side -f -", stdin: deployment("[{name: one, image: one:1}, {name: two, image: two:1}]")},
	{args: "apply --server-side -f -", stdin: deployment("[{name: one, image: one:2}, {name: two, image: two:1}]")},
	{args: "get deploy web -o jsonpath={.spec.template.spec.containers[*].image}"},
	{args: "apply --server-side -f -", stdin: deployment("[{name: two, image: two:2}]")},
	{args: "get deployments.apps web -o jsonpath={.spec.template.spec.containers[*].image}"},
	{args: "get deployments.v1.apps -o name"},

	// Other ways to change an object.
	{args: "label configmap b tier=front"},
	{args: "label configmap b tier=back"}, // needs --overwrite
	{args: "annotate configmap b note=hello"},
	{args: `patch configmap b --type=merge -p {"data":{"merged":"1","x":null}}`},
	{args: `patch configmap b --type=json -p [{"op":"add","path":"/data/json","value":"1"}]`},
	{args: `patch configmap b -p {"data":{"strategic":"1"}}`},
	{args: "get cm b -o jsonpath={.data}{.metadata.labels}"},
	{args: "replace -f -", stdin: configMap("b", "{replaced: '1'}")},
	{args: "get cm b -o jsonpath={.data}"},
	{args: `patch configmap b --type=json -p [{"op":"test","path":"/data/replaced","value":"2"}]`},
	{args: `patch configmap b --type=json -p [{"op":"test","path":"/data/absent","value":"2"}]`},
	{args: `patch configmap b --type=json -p [{"op":"remove","path":"/data/absent"}]`},
	{args: `patch configmap b --type=json -p [{"op":"replace","path":"/data/absent","value":"1"}]`},
	{args: `patch configmap b --type=json -p [{"op":"dance","path":"/data"}]`},
	{args: `patch configmap missing --type=merge -p {"data":{"a":"1"}}`},

	// Selectors, pages, several types, other namespaces.
	{args: "create -f -", stdin: configMap("c", "{}")},
	{args: "label cm c tier=front"},
	{args: "get cm"},
	{args: "get cm -o name"},
	{args: "get cm -o name --chunk-size=1"},
	{args: "get cm -o name -l tier=front"},
	{args: "get cm -o name -l tier!=front"},
	{args: "get cm -o name -l !tier"},
	{args: "get cm -o name -l tier=front,other"},
	{args: "get cm -o name --field-selector metadata.name=c"},
	{args: "get cm -o name --field-selector metadata.name!=c"},
	{args: "get cm --field-selector data.x=1"},
	{args: "get cm --field-selector=data.x=1,metadata.name=b -l app=b"},
	{args: "get pods --field-selector spec.x=1"},
	{args: "get deploy --field-selector spec.x=1"},
	{args: "get rs --field-selector status.replicas=0"},
	{args: "get jobs --field-selector spec.x=1"},
	{args: "get nodes --field-selector spec.x=1"},
	{args: "get nodes --field-selector metadata.namespace=x"},
	{args: "get pv --field-selector metadata.namespace=x"},
	{args: "get cm -w --field-selector data.x=1"},
	{args: "delete cm --field-selector data.x=1"},
	{args: "get cm,deploy -o name"},
	{args: "create -f -", stdin: "{apiVersion: v1, kind: Namespace, metadata: {name: other}}"},
	{args: "get ns other -o name"},
	{args: "create -f -", stdin: "{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: YQ==, b: Yg==}}"},
	{args: "get secrets -o name"},
	{args: "create -n other -f -", stdin: configMap("d", "{}")},
	{args: "get cm -n other -o name"},
	{args: "get cm -n other"},
	{args: "get cm d"},
	{args: "get cm -A --field-selector metadata.namespace!=kube-system --sort-by=.metadata.name -o custom-columns=NS:.metadata.namespace,NAME:.metadata.name"},
	{args: "get cm --all-namespaces --field-selector metadata.namespace!=kube-system"},

	// What kubectl makes by itself, which it sends as protobuf.
	{args: "create deployment made --image=i:1 --replicas=2 --port=80"},
	{args: "get deploy made -o jsonpath={.spec.replicas}:{.spec.template.spec.containers[0].image}:{.spec.template.spec.containers[0].ports[0].containerPort}"},
	{args: "create configmap made --from-literal=a=b"},
	{args: "get cm made -o yaml"},
	{args: "create configmap made"},
	{args: "create secret generic made --from-literal=a=b"},
	{args: "get secret made -o yaml"},
	{args: "create namespace made"},
	{args: "create job made --image=i -- echo hi"},
	{args: "create role made --verb=get --resource=pods"},
	{args: "get role made -o yaml"},
	{args: "create serviceaccount made"},
	{args: "create service clusterip made --tcp=80:8080 --clusterip=None"},
	{args: "get --raw /api/v1/namespaces/default/configmaps/made?watch=1 -o json"},
	{args: "delete deploy,cm,secret,role,sa,svc made"},

	{args: "delete configmap c"},
	{args: "delete configmap c"}, // gone
	{args: "delete configmap c --ignore-not-found"},
	{args: "delete cm -l tier=front"},
	{args: "delete deploy web --wait=false"},
	{args: "delete cm --all"},
	{args: "get cm"},
	{args: "get --raw /readyz"},
}

func configMap(name, data string) string {
	return "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + ", labels: {app: " + name + "}}, data: " + data + "}"
}

func deployment(containers string) string {
	return "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2, " +
		"selector: {matchLabels: {app: web}}, " +
		"template: {metadata: {labels: {app: web}}, spec: {containers: " + containers + "}}}}"
}

// TestKubectl: kubectl cannot tell apitest from kube-apiserver.
func TestKubectl(t *testing.T) {
	ours, theirs := apitestShell(t), realShell(t)
	t.Run("script", func(t *testing.T) {
		for _, s := range script {
			compare(t, ours, theirs, s)
		}
	})
	for _, flags := range []string{
		"",
		"--output-watch-events",
		"-l app=b --output-watch-events",
		"--field-selector metadata.name=b -o name",
		`--output-watch-events -o jsonpath={.type}:{.object.metadata.name}:{.object.data}{"\n"}`,
	} {
		t.Run("get -w "+flags, func(t *testing.T) { testWatch(t, ours, theirs, strings.Fields(flags)) })
	}
}

// compare does one step on both sides, which must print the same.
func compare(t *testing.T, ours, theirs *shell, s step) {
	t.Helper()
	args := strings.Fields(s.args)
	want, got := theirs.run(t, s.stdin, args...), ours.run(t, s.stdin, args...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kubectl %s (-kube-apiserver +apitest):\n%s", s.args, diff)
	}
}

// testWatch: get -w prints the same line for each change, when it happens.
func testWatch(t *testing.T, ours, theirs *shell, flags []string) {
	compare(t, ours, theirs, step{args: "apply -f -", stdin: configMap("b", "{x: '1'}")})
	args := append([]string{"get", "configmaps", "-w"}, flags...)
	followTheirs, followOurs := theirs.start(t, args...), ours.start(t, args...)
	next := func(after string) string {
		t.Helper()
		want, got := followTheirs.next(), followOurs.next()
		if want != got {
			t.Errorf("%s: kube-apiserver %q, apitest %q", after, want, got)
		}
		return want
	}

	if strings.Contains(next("first line"), "NAME") {
		next("after the heading")
	}
	for _, s := range []step{
		{args: "apply -f -", stdin: configMap("b", "{x: '2', y: '2'}")},
		{args: "label configmap b more=1"},
		{args: "delete configmap b"},
	} {
		compare(t, ours, theirs, s)
		next(s.args)
	}
}
