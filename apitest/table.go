package apitest

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// tableFormat writes the Table that kubectl get asks for: the name and the age of each object, and
// of a ConfigMap the number of its values, so that a person at kubectl sees a change.
type tableFormat struct {
	jsonFrames
	version   string // of the API group meta.k8s.io
	data      bool   // the type has the column Data
	columns   []byte // the definitions of the columns, in JSON
	rowObject func(b []byte, r *revision) []byte
	now       time.Time
	described *bool // an event of this watch has had the definitions of the columns
}

func newTableFormat(t *table, version, includeObject string) tableFormat {
	f := tableFormat{version: version, data: t.res.ID() == "configmaps", now: time.Now(), described: new(bool)}
	f.columns = f.definitions()
	switch includeObject {
	case "None":
	case "Object":
		f.rowObject = newJSONFormat(t).object
	default:
		f.rowObject = newMetadataFormat(version).object
	}
	return f
}

func (f tableFormat) definitions() []byte {
	all := []metav1.TableColumnDefinition{{Name: "Name", Format: "name", Description: "Name must be unique within a namespace."}}
	if f.data {
		all = append(all, metav1.TableColumnDefinition{Name: "Data"})
	}
	all = append(all, metav1.TableColumnDefinition{Name: "Age", Description: "Time since the object was created."})
	for i := range all {
		all[i].Type = "string" // kube-apiserver uses string for most numbers, too
	}
	return mustJSON(all)
}

// dataCell returns the number of values that a ConfigMap has. If it cannot be read, the cell is
// "<invalid>": this server checks no schema.
func dataCell(r *revision) any {
	var v struct {
		Data       map[string]jsontext.Value `json:"data"`
		BinaryData map[string]jsontext.Value `json:"binaryData"`
	}
	if err := json.Unmarshal(append([]byte{'{'}, r.body...), &v); err != nil {
		return "<invalid>"
	}
	return len(v.Data) + len(v.BinaryData)
}

func (f tableFormat) head(b []byte, meta metav1.ListMeta) []byte {
	b = append(b, `{"kind":"Table","apiVersion":"meta.k8s.io/`+f.version+`",`...)
	b = append(appendListMeta(b, meta), `,"columnDefinitions":`...)
	return append(append(b, f.columns...), `,"rows":[`...)
}

func (f tableFormat) row(b []byte, r *revision) []byte {
	age := "<unknown>"
	if t, err := time.Parse(time.RFC3339, r.created); err == nil {
		age = duration.HumanDuration(f.now.Sub(t))
	}
	cells := []any{r.name}
	if f.data {
		cells = append(cells, dataCell(r))
	}
	b = append(append(b, `{"cells":`...), mustJSON(append(cells, age))...)
	if f.rowObject != nil {
		b = f.rowObject(append(b, `,"object":`...), r)
	}
	return append(b, '}')
}

func (f tableFormat) object(b []byte, r *revision) []byte {
	b = f.head(b, metav1.ListMeta{ResourceVersion: formatRV(r.rv)})
	return append(f.row(b, r), "]}"...)
}

func (f tableFormat) listHead(b []byte, meta metav1.ListMeta, _ []*revision) []byte {
	meta.ShardInfo = nil // kube-apiserver does not copy it
	return f.head(b, meta)
}

func (f tableFormat) item(b []byte, i int, r *revision) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	return f.row(b, r)
}

func (f tableFormat) event(b []byte, typ eventType, r *revision) []byte {
	f.now = time.Now()
	if *f.described {
		f.columns = []byte("null") // only the first event has the definitions
	}
	*f.described = true
	return closeEvent(f.object(openEvent(b, typ), r))
}

func (f tableFormat) bookmark(b []byte, rv uint64, end bool) []byte {
	f.columns = []byte("[]")
	b = f.head(openEvent(b, "BOOKMARK"), metav1.ListMeta{ResourceVersion: formatRV(rv)})
	b = newMetadataFormat(f.version).bare(append(b, `{"cells":[],"object":`...), bookmarkMeta(rv, end))
	return closeEvent(append(b, "}]}"...))
}
