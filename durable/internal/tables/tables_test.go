package tables

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/durable"
)

var (
	rules = Rules{MaxName: 40, Prefix: "db_", Reserved: []string{"rowid"}}
	pods  = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

func member(name string) Step { return Step{Member: name} }

func TestColumns(t *testing.T) {
	for text, want := range map[string][]Step{
		"node=.spec.nodeName":             {member("spec"), member("nodeName")},
		"image=.spec.containers[0].image": {member("spec"), member("containers"), {Index: 0}, member("image")},
		`app=.metadata.labels["a.b/c"]`:   {member("metadata"), member("labels"), member("a.b/c")},
		`app=.metadata.labels['a"b'].x`:   {member("metadata"), member("labels"), member(`a"b`), member("x")},
		`app=.metadata.labels.a\.b/c`:     {member("metadata"), member("labels"), member("a.b/c")},
		"x=[3]":                           {{Index: 3}},
		"x=.3":                            {member("3")},
		"x=.a=b":                          {member("a=b")},
	} {
		_, columns, err := rules.Prepare(durable.Table{Resource: pods, Columns: []string{text}})
		if err != nil || len(columns) != 1 || !slices.Equal(columns[0].Path, want) {
			t.Errorf("%s: %+v, %v", text, columns, err)
		}
	}
	for _, text := range []string{
		"", "node", "node=", "node=spec", "=.a", "Node=.a", "1a=.a", "a-b=.a", "key=.a", "rowid=.a", "db_x=.a", "a=.b..c", "a=.b.", "a=.b[x]",
		"a=.b[0", "a=.b[-1]", `a=.b["c`, `a=.b[""]`, "a=.b\x00", "a=.\xff", strings.Repeat("a", 41) + "=.b",
	} {
		if _, columns, err := rules.Prepare(durable.Table{Resource: pods, Columns: []string{text}}); err == nil || !strings.HasPrefix(err.Error(), "column ") {
			t.Errorf("%q: %+v, %v", text, columns, err)
		}
	}
}

func TestPrepareRefuses(t *testing.T) {
	for want, bad := range map[string]durable.Table{
		"needs a version":           {},
		`Table.Name "relist_x"`:     {Resource: pods, Name: "relist_x"},
		`Table.Name "x_history"`:    {Resource: pods, Name: "x_history"},
		`Table.Name "a;b"`:          {Resource: pods, Name: "a;b"},
		"Table.History is -1h0m0s":  {Resource: pods, History: -time.Hour},
		"there are two of this":     {Resource: pods, Columns: []string{"x=.a", "x=.b"}},
		"a column of this name":     {Resource: pods, Columns: []string{"ended=.a"}},
		"at most 40, and neither a": {Resource: pods, Name: strings.Repeat("a", 41)},
	} {
		if _, _, err := rules.Prepare(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Prepare(%+v): %v, want %q", bad, err, want)
		}
	}
}

// A name is one that every database takes without quotes. Two long names that begin in the same way
// stay two.
func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"pods":                         "pods",
		"deployments.apps":             "deployments_apps",
		"certificates.Cert-Manager.io": "certificates_cert_manager_io",
		"events.events.k8s.io":         "events_events_k8s_io",
		"validatingadmissionpolicies.admissionregistration.k8s.io":       "validatingadmissionpolicies_adm_0326a620",
		"validatingwebhookconfigurations.admissionregistration.k8s.io":   "validatingwebhookconfigurations_1c9b2a73",
		"validatingwebhookconfigurations.admissionregistration.other.io": "validatingwebhookconfigurations_2365c085",
	} {
		resource := schema.ParseGroupResource(name).WithVersion("v1")
		if got, _, err := rules.Prepare(durable.Table{Resource: resource}); err != nil || got.Name != want || len(want) > 40 {
			t.Errorf("the table of %s is %s, %v, want %s", name, got.Name, err, want)
		}
	}
}
