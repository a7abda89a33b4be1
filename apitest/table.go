package apitest

import (
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// tableFormat is the form that kubectl get asks for: rows of cells, here the name and the age of every type.
type tableFormat struct {
	version   string // of meta.k8s.io
	rowObject func(b []byte, r *revision) []byte
	now       time.Time
}

func newTableFormat(t *table, version, includeObject string) tableFormat {
	f := tableFormat{version: version, now: time.Now()}
	switch includeObject {
	case "None":
	case "Object":
		f.rowObject = jsonFormat{t}.object
	default:
		f.rowObject = metadataFormat{version}.object
	}
	return f
}

const tableColumns = `"columnDefinitions":[` +
	`{"name":"Name","type":"string","format":"name","description":"Name must be unique within a namespace.","priority":0},` +
	`{"name":"Age","type":"string","format":"","description":"Time since the object was created.","priority":0}]`

func (f tableFormat) contentType(bool) string { return "application/json" }

func (f tableFormat) head(b []byte, meta metav1.ListMeta) []byte {
	b = append(b, `{"kind":"Table","apiVersion":"meta.k8s.io/`+f.version+`",`...)
	b = appendListMeta(b, meta)
	return append(b, ","+tableColumns+`,"rows":[`...)
}

func (f tableFormat) row(b []byte, r *revision) []byte {
	age := "<unknown>"
	if t, err := time.Parse(time.RFC3339, r.created); err == nil {
		age = duration.HumanDuration(f.now.Sub(t))
	}
	b = append(b, `{"cells":[`...)
	b = append(append(append(b, '"'), r.name...), `","`...)
	b = append(append(b, age...), `"]`...)
	if f.rowObject != nil {
		b = f.rowObject(append(b, `,"object":`...), r)
	}
	return append(b, '}')
}

func (f tableFormat) object(b []byte, r *revision) []byte {
	b = f.head(b, metav1.ListMeta{ResourceVersion: formatRV(r.rv)})
	return append(f.row(b, r), "]}"...)
}

func (f tableFormat) listHead(b []byte, meta metav1.ListMeta) []byte { return f.head(b, meta) }

func (f tableFormat) item(b []byte, i int, r *revision) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	return f.row(b, r)
}

func (f tableFormat) listTail(b []byte) []byte { return append(b, "]}\n"...) }

func (f tableFormat) event(b []byte, typ eventType, r *revision) []byte {
	f.now = time.Now()
	return closeEvent(f.object(openEvent(b, typ), r))
}

func (f tableFormat) bookmark(b []byte, rv uint64, end bool) []byte {
	b = append(openEvent(b, "BOOKMARK"), `{"kind":"Table","apiVersion":"meta.k8s.io/`+f.version+`","metadata":{"resourceVersion":"`...)
	b = strconv.AppendUint(b, rv, 10)
	b = append(b, `"},"columnDefinitions":[],"rows":[{"cells":[],"object":`...)
	b = append(b, metadataFormat{f.version}.words("")...)
	return closeEvent(append(appendBookmarkMeta(b, rv, end), "}}]}"...))
}

func (f tableFormat) status(b []byte, status *metav1.Status) []byte {
	return appendErrorEvent(b, status)
}
