package apitest

import (
	"cmp"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A printer makes the columns of a type that kube-apiserver prints beside Name and Age. kubectl cannot make them,
// because it only shows the cells that it gets. If an object lacks a field for which kube-apiserver has a default, the
// printer prints the default.
type printer struct {
	columns []string // between Name and Age
	cells   func(object []byte) ([]any, error)
}

// printers has the printer of each type; the key is Resource.ID. A type that is not here has only Name and Age.
var printers = map[string]printer{
	"configmaps": {columns: []string{"Data"}, cells: configMapCells},
	"deployments.apps": {
		columns: []string{"Ready", "Up-to-date", "Available"},
		cells:   deploymentCells,
	},
	"namespaces": {columns: []string{"Status"}, cells: namespaceCells},
	"secrets":    {columns: []string{"Type", "Data"}, cells: secretCells},
}

// row returns the cells of an object. If the object cannot be read, each cell is "<invalid>". There are such objects,
// because this server checks no schema.
func (p printer) row(r *revision) []any {
	if p.cells == nil {
		return nil
	}
	cells, err := p.cells(append([]byte{'{'}, r.body...))
	if err != nil {
		cells = make([]any, len(p.columns))
		for i := range cells {
			cells[i] = "<invalid>"
		}
	}
	return cells
}

// view decodes an object into T, and skips members that T does not have.
func view[T any](object []byte) (T, error) {
	var v T
	// The names in Go differ from those in JSON only in capital letters.
	err := json.Unmarshal(object, &v, json.MatchCaseInsensitiveNames(true))
	return v, err
}

func configMapCells(object []byte) ([]any, error) {
	v, err := view[struct{ Data, BinaryData map[string]jsontext.Value }](object)
	return []any{len(v.Data) + len(v.BinaryData)}, err
}

func secretCells(object []byte) ([]any, error) {
	v, err := view[struct {
		Type string
		Data map[string]jsontext.Value
	}](object)
	return []any{cmp.Or(v.Type, "Opaque"), len(v.Data)}, err
}

func namespaceCells(object []byte) ([]any, error) {
	v, err := view[struct{ Status struct{ Phase string } }](object)
	return []any{cmp.Or(v.Status.Phase, "Active")}, err
}

func deploymentCells(object []byte) ([]any, error) {
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
