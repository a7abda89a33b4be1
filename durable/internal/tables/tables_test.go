package tables

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
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
		_, columns, err := rules.Prepare(Table{Resource: pods, Columns: []string{text}})
		if err != nil || len(columns) != 1 || !slices.Equal(columns[0].Path, want) {
			t.Errorf("%s: %+v, %v", text, columns, err)
		}
	}
	for _, text := range []string{
		"", "node", "node=", "node=spec", "=.a", "Node=.a", "1a=.a", "a-b=.a", "key=.a", "rowid=.a", "db_x=.a", "a=.b..c", "a=.b.", "a=.b[x]",
		"a=.b[0", "a=.b[-1]", `a=.b["c`, `a=.b[""]`, "a=.b\x00", "a=.\xff", strings.Repeat("a", 41) + "=.b",
	} {
		if _, columns, err := rules.Prepare(Table{Resource: pods, Columns: []string{text}}); err == nil || !strings.HasPrefix(err.Error(), "column ") {
			t.Errorf("%q: %+v, %v", text, columns, err)
		}
	}
}

func TestPrepareRefuses(t *testing.T) {
	for want, bad := range map[string]Table{
		"needs a version":           {},
		`Table.Name "relist_x"`:     {Resource: pods, Name: "relist_x"},
		`Table.Name "x_history"`:    {Resource: pods, Name: "x_history"},
		`Table.Name "a;b"`:          {Resource: pods, Name: "a;b"},
		"a positive Retention":      {Resource: pods, History: true, Retention: -1},
		"Retention is only":         {Resource: pods, Retention: time.Hour},
		"there are two of this":     {Resource: pods, Columns: []string{"x=.a", "x=.b"}},
		"a column of this name":     {Resource: pods, Columns: []string{"ended=.a"}},
		"at most 40, and neither a": {Resource: pods, Name: strings.Repeat("a", 41)},
	} {
		if _, _, err := rules.Prepare(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Prepare(%+v): %v, want %q", bad, err, want)
		}
	}
}

func TestNames(t *testing.T) {
	for group, want := range map[string]string{
		"": "pods", "apps": "pods_apps", "Cert-Manager.io": "pods_cert_manager_io",
		strings.Repeat("a", 60): "pods_" + strings.Repeat("a", 35),
	} {
		resource := pods
		resource.Group = group
		if got, _, err := rules.Prepare(Table{Resource: resource}); err != nil || got.Name != want {
			t.Errorf("the table of group %s is %s, %v, want %s", group, got.Name, err, want)
		}
	}
}
