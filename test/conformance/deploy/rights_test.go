package deploy

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/test/conformance/command"
)

// may asks the server whether the service account may do something.
func (d *deployment) may(verb, resource, namespace string) bool {
	d.Helper()
	out, err := d.try("", "auth", "can-i", verb, resource, "-n", namespace, "--as", "system:serviceaccount:"+d.namespace+":relist")
	switch strings.TrimSpace(out) {
	case "yes":
		return true
	case "no":
		return false // and the exit status is 1
	}
	d.Fatalf("can-i %s %s: %v %s", verb, resource, err, out)
	return false
}

// nothingMore asks for what the mirror does not do.
func (d *deployment) nothingMore() {
	d.Helper()
	for _, verb := range []string{"get", "create", "update", "patch", "delete", "deletecollection", "*"} {
		if d.may(verb, "configmaps", d.namespace) {
			d.Errorf("it may %s configmaps", verb)
		}
	}
	for _, resource := range []string{"secrets", "pods", "serviceaccounts/token", "*"} {
		for _, verb := range []string{"get", "list", "watch", "create"} {
			if d.may(verb, resource, d.namespace) {
				d.Errorf("it may %s %s", verb, resource)
			}
		}
	}
	if got := d.may("list", "configmaps", "elsewhere"); got != d.everywhere {
		d.Errorf("it may list elsewhere: %v", got)
	}
}

// role is the kind of the object that gives the rights.
func (d *deployment) role() string {
	if d.everywhere {
		return "clusterrole"
	}
	return "role"
}

// eachVerbIsNeeded takes each verb of each rule away in turn, and sees the mirror fail for
// the want of it, and say so.
func (d *deployment) eachVerbIsNeeded() {
	d.Helper()
	var whole rbacv1.Role // as a ClusterRole, as far as this test looks
	d.get(d.role(), &whole)
	verbs := 0
	for i, rule := range whole.Rules {
		for _, verb := range rule.Verbs {
			verbs++
			less := whole.DeepCopy()
			less.Rules[i].Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(v string) bool { return v == verb })
			d.setRules(less.Rules)
			poll(d.T, "the right to "+verb+" is taken", func() bool { return !d.may(verb, "configmaps", d.namespace) })
			d.fails(verb)
			d.setRules(whole.Rules)
			poll(d.T, "the right to "+verb+" is given back", func() bool { return d.may(verb, "configmaps", d.namespace) })
		}
	}
	if verbs != 2 {
		d.Errorf("%d verbs were taken away", verbs)
	}
}

func (d *deployment) setRules(rules []rbacv1.PolicyRule) {
	d.Helper()
	patch, err := json.Marshal(map[string]any{"rules": rules})
	must.OK(d.T, err)
	d.kubectl("", "patch", d.role(), "relist", "-n", d.namespace, "--type", "merge", "-p", string(patch))
}

// fails runs the mirror without the right to do a thing. Without a list it ends at once;
// without watches it has the objects as they are listed, and its status says what is wrong.
func (d *deployment) fails(verb string) {
	d.Helper()
	want := `User "system:serviceaccount:` + d.namespace + `:relist" cannot ` + verb + ` resource "configmaps"`
	if verb == "list" {
		out, err := exec.CommandContext(d.Context(), command.Path(d.T), append([]string{"mirror"}, d.args()...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			d.Errorf("without the right to list: %v, %s; want it to say %s", err, out, want)
		}
		return
	}
	m := command.StartMirror(d.T, d.args()...)
	m.AwaitLines("a refusal", func(lines []command.Line) bool { return command.Count(lines, command.Kind("backoff")) > 0 })
	var status struct {
		Synced    bool
		State     string
		LastError string
	}
	_, body := d.ask(m.Command, "/status")
	must.OK(d.T, json.Unmarshal([]byte(body), &status))
	if !status.Synced || status.State != "waiting" || !strings.Contains(status.LastError, want) {
		d.Errorf("without the right to %s, the status is %s; want it to say %s", verb, body, want)
	}
	m.Interrupt()
}
