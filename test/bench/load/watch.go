package load

import (
	"net/http"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/relist-go/relist/test/bench/objects"
)

// batch is how many changes are encoded before somebody else may read the history.
const batch = 64

func (s *Server) serveWatch(rw http.ResponseWriter, req *http.Request, q query) {
	w := &watchWriter{rw: rw, query: q}
	initial := q.initial || q.version == "" || q.version == "0"
	var at cursor
	if !initial {
		version, err := strconv.ParseUint(q.version, 10, 64)
		if err != nil {
			writeStatus(rw, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
			return
		}
		var known bool
		if at, known = q.world.at(version); !known {
			writeStatus(rw, http.StatusGone, metav1.StatusReasonExpired, "too old resource version: "+q.version)
			return
		}
	}
	rw.Header().Set("Content-Type", mediaTypes[q.format][1])
	rw.WriteHeader(http.StatusOK)
	s.watches.Add(1)
	defer s.watches.Add(-1)
	if initial {
		var states []objects.Values
		states, at = q.world.snapshot(q.begin, q.end)
		w.events(objects.Added, states)
		if q.initial {
			w.bookmark(at.version)
		}
	}
	for {
		events, next, changed, open := q.world.read(at, batch, q.node)
		switch {
		case !open:
			w.event("ERROR", &metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
				Status:   metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Code: http.StatusGone,
				Message: "The resourceVersion for the provided watch is too old.",
			})
			w.flush()
			return
		case len(events) > 0:
			w.events(objects.Modified, events)
		default:
			w.flush()
			select {
			case <-changed:
			case <-req.Context().Done():
				return
			}
		}
		at = next
		if w.err != nil || q.until > 0 && at.version >= q.until {
			w.flush()
			return
		}
	}
}

// A watchWriter encodes events and writes them when there are many, or no more.
type watchWriter struct {
	rw     http.ResponseWriter
	query  query
	buffer []byte
	err    error
}

func (w *watchWriter) events(shape objects.Shape, states []objects.Values) {
	q := w.query
	for _, v := range states {
		if q.wants(v) {
			w.buffer = q.world.set.Template(q.format, shape, v.Index).Append(w.buffer, v)
		}
		if len(w.buffer) > writeBytes {
			w.write()
		}
	}
}

// bookmark ends the initial events.
func (w *watchWriter) bookmark(version uint64) {
	meta := metav1.ObjectMeta{
		ResourceVersion: strconv.FormatUint(version, 10),
		Annotations:     map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}
	w.event("BOOKMARK", &corev1.Pod{TypeMeta: objects.TypeMeta, ObjectMeta: meta})
}

func (w *watchWriter) event(eventType string, obj runtime.Object) {
	encoded, err := objects.Event(eventType, obj, w.query.format)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.buffer = append(w.buffer, encoded...)
}

func (w *watchWriter) write() {
	if w.err == nil && len(w.buffer) > 0 {
		_, w.err = w.rw.Write(w.buffer)
	}
	w.buffer = w.buffer[:0]
}

func (w *watchWriter) flush() {
	w.write()
	if w.err == nil {
		w.err = http.NewResponseController(w.rw).Flush()
	}
}
