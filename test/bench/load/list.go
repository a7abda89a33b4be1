package load

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/test/bench/objects"
)

// writeBytes is how much is written at once.
const writeBytes = 64 << 10

// gzipLevel is that of kube-apiserver, which compresses what is larger than gzipFrom.
const (
	gzipLevel = 1
	gzipFrom  = 128 << 10
)

func (s *Server) serveList(rw http.ResponseWriter, req *http.Request, q query) {
	end := q.end
	if q.limit > 0 {
		end = min(q.end, q.from+q.limit)
	}
	if q.node < objects.Nodes {
		end = q.end // they are few, and make one page
	}
	states, at := q.world.snapshot(q.from, end)
	states = slices.DeleteFunc(states, func(v objects.Values) bool { return !q.wants(v) })
	meta := metav1.ListMeta{ResourceVersion: strconv.FormatUint(at.version, 10)}
	if remaining := int64(q.end - end); remaining > 0 {
		meta.Continue, meta.RemainingItemCount = strconv.Itoa(end), &remaining
	}
	rw.Header().Set("Content-Type", mediaTypes[q.format][0])
	out := io.Writer(rw)
	if s.gzip && strings.Contains(req.Header.Get("Accept-Encoding"), "gzip") && len(states)*itemBytes(q) > gzipFrom {
		rw.Header().Set("Content-Encoding", "gzip")
		zipped, _ := gzip.NewWriterLevel(rw, gzipLevel) // unreachable: the level is one that there is
		defer func() { _ = zipped.Close() }()           // it fails if the client has hung up
		out = zipped
	}
	buffered := bufio.NewWriterSize(out, writeBytes)
	writeList(buffered, q, meta, states)
	_ = buffered.Flush() // the client has hung up
}

// itemBytes is about the size of an object.
func itemBytes(q query) int {
	return q.world.set.Template(q.format, objects.Item, q.begin).Len()
}

// writeList writes a list. An error is kept by the writer.
func writeList(w *bufio.Writer, q query, meta metav1.ListMeta, states []objects.Values) {
	typeMeta := objects.TypeMeta
	typeMeta.Kind += "List"
	template := func(v objects.Values) objects.Template {
		return q.world.set.Template(q.format, objects.Item, v.Index)
	}
	var scratch []byte
	switch q.format {
	case objects.JSON:
		head, _ := json.Marshal(struct {
			metav1.TypeMeta `json:",inline"`
			Meta            metav1.ListMeta `json:"metadata"`
			Items           []int           `json:"items"`
		}{typeMeta, meta, []int{}})
		_, _ = w.Write(head[:len(head)-len("]}")])
		for i, v := range states {
			scratch = scratch[:0]
			if i > 0 {
				scratch = append(scratch, ',')
			}
			_, _ = w.Write(template(v).Append(scratch, v))
		}
		_, _ = w.WriteString("]}\n")
	case objects.Protobuf:
		rawMeta, _ := meta.Marshal()
		size := len(fieldHead(1, len(rawMeta))) + len(rawMeta)
		for _, v := range states {
			n := template(v).Len()
			size += len(fieldHead(2, n)) + n
		}
		_, _ = w.Write(objects.EnvelopeHead(typeMeta, size))
		_, _ = w.Write(append(fieldHead(1, len(rawMeta)), rawMeta...))
		for _, v := range states {
			t := template(v)
			scratch = append(scratch[:0], fieldHead(2, t.Len())...)
			_, _ = w.Write(t.Append(scratch, v))
		}
		_, _ = w.WriteString(objects.EnvelopeTail)
	}
}

// fieldHead is what stands before a length-delimited field of protobuf.
func fieldHead(number, n int) []byte {
	return binary.AppendUvarint([]byte{byte(number<<3 | 2)}, uint64(n))
}
