package listwatch

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

func protoStatus(t testing.TB, status metav1.Status) string {
	t.Helper()
	raw, err := status.Marshal()
	must.OK(t, err)
	return enveloped("Status", string(raw))
}

func TestProtobufWatchFrames(t *testing.T) {
	object := enveloped("ConfigMap", protoObject("a", "5", "v"))
	next := protoEvent("MODIFIED", enveloped("ConfigMap", protoObject("z", "9", "v")))
	bookmark := func(annotation, value string) string {
		meta := join(pb(6, "6"), pb(12, join(pb(1, annotation), pb(2, value))))
		return protoEvent("BOOKMARK", enveloped("ConfigMap", join(pb(1, meta))))
	}
	frame := func(message string) string {
		return string([]byte{0, 0, byte(len(message) >> 8), byte(len(message))}) + message
	}
	for name, test := range map[string]struct {
		text string
		want string // the first event, or the error after none
	}{
		"as servers write it":    {protoEvent("ADDED", object), "ADDED n/a@5"},
		"a deletion":             {protoEvent("DELETED", object), "DELETED n/a@5"},
		"object first":           {frame(join(pb(2, pb(1, object)), pb(1, "ADDED"))), "ADDED n/a@5"},
		"more fields":            {frame(join(pb(1, "ADDED"), pb(7, "x"), pb(2, join(pb(3, "y"), pb(1, object))))), "ADDED n/a@5"},
		"without an envelope":    {protoEvent("ADDED", protoObject("a", "5", "v")), "ADDED n/a@5"},
		"bad object":             {protoEvent("MODIFIED", enveloped("ConfigMap", protoObject("a", "5", "v")+"\x12\x7f")), "MODIFIED n/a@5 (bad)"},
		"bad envelope":           {protoEvent("MODIFIED", object+"\x12\x7f"), "MODIFIED @ (bad)"},
		"no name":                {protoEvent("ADDED", enveloped("ConfigMap", string(pb(1, pb(6, "5"))))), "ADDED @5 (bad)"},
		"no metadata":            {protoEvent("ADDED", enveloped("ConfigMap", "")), "ADDED @ (bad)"},
		"bookmark":               {protoEvent("BOOKMARK", enveloped("ConfigMap", string(pb(1, pb(6, "6"))))), "BOOKMARK @6"},
		"annotation true":        {bookmark(metav1.InitialEventsAnnotationKey, "true"), "BOOKMARK @6 (end of initial events)"},
		"annotation not true":    {bookmark(metav1.InitialEventsAnnotationKey, "false"), "BOOKMARK @6"},
		"another annotation":     {bookmark("k", "true"), "BOOKMARK @6"},
		"torn bookmark":          {protoEvent("BOOKMARK", enveloped("ConfigMap", "\x0a\x05\x32\x7f6")), "decode a bookmark"},
		"torn annotation":        {protoEvent("BOOKMARK", enveloped("ConfigMap", string(pb(1, pb(12, "\x0a\x7f"))))), "decode a bookmark"},
		"unknown type":           {protoEvent("FROBNICATED", object), `event of the unknown type "FROBNICATED"`},
		"no object":              {frame(string(pb(1, "ADDED"))), "needs a type and an object"},
		"no type":                {frame(string(pb(2, pb(1, object)))), "needs a type and an object"},
		"torn event":             {frame("\x0a\x7fADDED"), "ends inside a field"},
		"torn extension":         {frame(join(pb(1, "ADDED"), pb(2, "\x0a\x7f"))), "ends inside a field"},
		"status":                 {protoEvent("ERROR", protoStatus(t, metav1.Status{Code: 410, Reason: "Expired", Message: "too old"})), "410 Expired: too old"},
		"status without code":    {protoEvent("ERROR", protoStatus(t, metav1.Status{Reason: "Gone"})), "410 Gone"},
		"status in JSON":         {protoEvent("ERROR", ` {"kind":"Status","code":410,"message":"m"}`), "410: m"},
		"error without a status": {protoEvent("ERROR", object), "500 InternalError"},
		"error of another kind":  {protoEvent("ERROR", "\xff"), "500 InternalError"},
	} {
		t.Run(name, func(t *testing.T) {
			events, err := readAll(t, mustNew(t, serve(t, protoBody(test.text+next)), Options[*protoMap]{Encoding: Auto}))
			got := err.Error()
			if len(events) > 0 {
				got = events[0]
			}
			if len(events) > 0 && got != test.want || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if len(events) == 1 {
				t.Errorf("the event after it was lost: %v", err)
			}
		})
	}
}

// TestProtobufErrorsOfRequests has servers that refuse a request for protobuf in
// protobuf and in JSON. Both give the same error.
func TestProtobufErrorsOfRequests(t *testing.T) {
	answer := captureBytes(t, "list-rv-too-large-protobuf.bin")
	_, body, ok := strings.Cut(answer, "\r\n\r\n")
	if !ok {
		t.Fatal("the capture has no header")
	}
	r := mustNew(t, serve(t, refuseWith(Protobuf.MediaType(), 504, body)), Options[*protoMap]{Encoding: Auto})
	_, listErr := r.List(t.Context(), metav1.ListOptions{})
	_, watchErr := r.Watch(t.Context(), metav1.ListOptions{})
	for _, err := range []error{listErr, watchErr} {
		if !apierrors.IsTimeout(err) || !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) || !strings.Contains(err.Error(), "Too large resource version") {
			t.Errorf("error is %v", err)
		}
	}
}

// FuzzProtobufEvent feeds frames to the watch.
func FuzzProtobufEvent(f *testing.F) {
	for _, typ := range []string{"ADDED", "DELETED", "BOOKMARK", "ERROR"} {
		f.Add([]byte(protoEvent(typ, enveloped("ConfigMap", protoObject("a", "5", "v")))[4:]))
	}
	f.Add([]byte(protoEvent("ERROR", protoStatus(f, metav1.Status{Code: 410}))[4:]))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := newDecoder[*protoMap](nil, nil, false, Protobuf)
		must.OK(t, err)
		w := &watch[*protoMap]{what: "things", decoder: d, encoding: d.encodings[0]}
		event, err := w.decode(transport.Frame{Data: data})
		var reference metav1.WatchEvent
		if reference.Unmarshal(data) != nil {
			return
		}
		if reference.Type == "" || len(reference.Object.Raw) == 0 {
			return
		}
		if err != nil {
			return // an ERROR, a type that is unknown, a bookmark that is torn
		}
		if event.Err == nil && event.Type != object.Bookmark && event.Type.String() != reference.Type {
			t.Fatalf("%x has type %q, got %v", data, reference.Type, event.Type)
		}
		if word, object, splitErr := Protobuf.SplitEvent(data, false); splitErr != nil || event.Err == nil && (word != event.Type.String() || len(object) == 0) {
			t.Fatalf("%x: the event is %v, %x, %v", data, word, object, splitErr)
		}
	})
}
