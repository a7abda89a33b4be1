package apitest

import (
	"cmp"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A printer makes the columns that kube-apiserver prints of a type beside Name and Age, and only the server can: kubectl
// shows the cells that it gets. Members that kube-apiserver would have filled in are printed as if they were.
type printer struct {
	columns []string // between Name and Age
	wide    []string // after Age, in "kubectl get -o wide" only
	// cells returns the cells of columns, then those of wide.
	cells func(object []byte, now time.Time) ([]any, error)
}

// printers are by Resource.ID. Types that are not here have Name and Age.
var printers = map[string]printer{
	"configmaps": {columns: []string{"Data"}, cells: configMapCells},
	"deployments.apps": {
		columns: []string{"Ready", "Up-to-date", "Available"},
		cells:   deploymentCells,
	},
	"namespaces": {columns: []string{"Status"}, cells: namespaceCells},
	"pods": {
		columns: []string{"Ready", "Status", "Restarts"},
		wide:    []string{"IP", "Node", "Nominated Node", "Readiness Gates"},
		cells:   podCells,
	},
	"secrets": {columns: []string{"Type", "Data"}, cells: secretCells},
}

// row returns the cells of an object. If the object cannot be read, each cell is "<invalid>"; this happens because no
// schema has refused the object.
func (p printer) row(r *revision, now time.Time) []any {
	if p.cells == nil {
		return nil
	}
	cells, err := p.cells(append([]byte{'{'}, r.body...), now)
	if err != nil {
		cells = make([]any, len(p.columns)+len(p.wide))
		for i := range cells {
			cells[i] = "<invalid>"
		}
	}
	return cells
}

// view decodes the members of an object that T has.
func view[T any](object []byte) (T, error) {
	var v T
	// Names in Go and on the wire differ in the case of letters only.
	err := json.Unmarshal(object, &v, json.MatchCaseInsensitiveNames(true))
	return v, err
}

func configMapCells(object []byte, _ time.Time) ([]any, error) {
	v, err := view[struct{ Data, BinaryData map[string]jsontext.Value }](object)
	return []any{len(v.Data) + len(v.BinaryData)}, err
}

func secretCells(object []byte, _ time.Time) ([]any, error) {
	v, err := view[struct {
		Type string
		Data map[string]jsontext.Value
	}](object)
	return []any{cmp.Or(v.Type, "Opaque"), len(v.Data)}, err
}

func namespaceCells(object []byte, _ time.Time) ([]any, error) {
	v, err := view[struct{ Status struct{ Phase string } }](object)
	return []any{cmp.Or(v.Status.Phase, "Active")}, err
}

func deploymentCells(object []byte, _ time.Time) ([]any, error) {
	v, err := view[struct {
		Spec   struct{ Replicas *int }
		Status struct{ ReadyReplicas, UpdatedReplicas, AvailableReplicas int }
	}](object)
	desired := 1
	if v.Spec.Replicas != nil {
		desired = *v.Spec.Replicas
	}
	ready := fmt.Sprintf("%d/%d", v.Status.ReadyReplicas, desired)
	return []any{ready, v.Status.UpdatedReplicas, v.Status.AvailableReplicas}, err
}
