package load

import (
	"net/http"
	"strconv"

	"github.com/gorilla/websocket"
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
	hungUp := req.Context().Done()
	if websocket.IsWebSocketUpgrade(req) {
		socket, err := upgrade(rw, req)
		if err != nil {
			return // it has answered
		}
		defer socket.close()
		w.socket, hungUp = socket, socket.closed
	} else {
		rw.Header().Set("Content-Type", mediaTypes[q.format][1])
		rw.WriteHeader(http.StatusOK)
	}
	if initial {
		var states []objects.Values
		states, at = q.world.snapshot(q.begin, q.end)
		w.events(objects.Added, states)
		if q.initial {
			w.bookmark(at.version)
		}
	}
	for {
		events, next, changed, open := q.world.read(at, batch)
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
			case <-hungUp:
				return
			}
		}
		if w.err != nil {
			return
		}
		at = next
	}
}

// A watchWriter encodes events and writes them when there are many, or no more.
type watchWriter struct {
	rw     http.ResponseWriter
	query  query
	socket *socket // nil over HTTP
	buffer []byte
	err    error
}

func (w *watchWriter) events(shape objects.Shape, states []objects.Values) {
	q := w.query
	for _, v := range states {
		if v.Index >= q.begin && v.Index < q.end {
			w.buffer = q.world.set.Template(q.format, q.view, shape, v.Index).Append(w.buffer, v)
		}
		if w.socket != nil || len(w.buffer) > writeBytes {
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
	set := w.query.world.set
	typeMeta := set.TypeMeta(w.query.view)
	switch {
	case w.query.view == objects.Metadata:
		w.event("BOOKMARK", &metav1.PartialObjectMetadata{TypeMeta: typeMeta, ObjectMeta: meta})
	case set.Kind == "Pod":
		w.event("BOOKMARK", &corev1.Pod{TypeMeta: typeMeta, ObjectMeta: meta})
	default:
		w.event("BOOKMARK", &corev1.ConfigMap{TypeMeta: typeMeta, ObjectMeta: meta})
	}
}

func (w *watchWriter) event(eventType string, obj runtime.Object) {
	encoded, err := objects.Event(eventType, obj, w.query.format)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.buffer = append(w.buffer, encoded...)
	if w.socket != nil {
		w.write()
	}
}

func (w *watchWriter) write() {
	switch {
	case w.err != nil || len(w.buffer) == 0:
	case w.socket != nil:
		w.err = w.socket.send(w.query.format, w.buffer)
	default:
		_, w.err = w.rw.Write(w.buffer)
	}
	w.buffer = w.buffer[:0]
}

func (w *watchWriter) flush() {
	w.write()
	if w.err == nil && w.socket == nil {
		w.err = http.NewResponseController(w.rw).Flush()
	}
}
