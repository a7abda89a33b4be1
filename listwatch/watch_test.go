package listwatch

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/object"
)

// readAll opens a watch, and returns its events and how it ended.
func readAll[T object.Object](t *testing.T, r *Client[T]) (events []string, end error) {
	t.Helper()
	w, err := r.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	for {
		e, err := w.Next()
		if err != nil {
			return events, err
		}
		line := fmt.Sprintf("%v %s@%s", e.Type, e.Meta.Key, e.Meta.ResourceVersion)
		if e.InitialEventsEnd {
			line += " (end of initial events)"
		}
		if e.Err != nil {
			line += " (bad)"
		}
		events = append(events, line)
	}
}

func TestWatchOfARealServer(t *testing.T) {
	events, err := readAll(t, mustNew(t, serve(t, replay(t, "watch-live.http")), Options[*configMap]{}))
	want := []string{
		"MODIFIED trace/a@40497", "MODIFIED trace/a@40498", "BOOKMARK @40498", "DELETED trace/e@40499",
	}
	if len(events) < len(want) || !errors.Is(err, io.EOF) {
		t.Fatalf("got %q, %v", events, err)
	}
	if diff := cmp.Diff(want, events[:len(want)]); diff != "" {
		t.Errorf("events differ (-want +got):\n%s", diff)
	}
}

func TestInitialEventsOfARealServer(t *testing.T) {
	events, err := readAll(t, mustNew(t, serve(t, replay(t, "watch-initial-events.http")), Options[*configMap]{}))
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	ends := 0
	for _, e := range events {
		if strings.HasSuffix(e, "(end of initial events)") {
			ends++
		}
	}
	if ends != 1 || !strings.HasPrefix(events[0], "ADDED ") {
		t.Errorf("events are %q, want ADDED ones and one end", events)
	}
}

func TestErrorEventEndsTheWatch(t *testing.T) {
	_, err := readAll(t, mustNew(t, serve(t, replay(t, "watch-rv-too-old.http")), Options[*configMap]{}))
	if !apierrors.IsResourceExpired(err) {
		t.Fatalf("error is %v, want 410 Expired", err)
	}
	if want := "watch configmaps: 410 Expired: too old resource version: 40475 (40520)"; err.Error() != want {
		t.Errorf("error is %q, want %q", err, want)
	}
}

func TestNoEventFollowsAnError(t *testing.T) {
	const next = `{"type":"ADDED","object":{"metadata":{"name":"a"}}}`
	for name, first := range map[string]string{
		"an ERROR event":     `{"type":"ERROR","object":{"kind":"Status","code":500}}`,
		"no event":           `{"a":1}`,
		"an unknown type":    `{"type":"FROBNICATED","object":{}}`,
		"a bookmark of none": `{"type":"BOOKMARK","object":7}`,
	} {
		w, err := mustNew(t, serve(t, body(first+next)), Options[*configMap]{}).Watch(t.Context(), metav1.ListOptions{})
		must.OK(t, err)
		defer w.Close()
		_, want := w.Next()
		if event, got := w.Next(); want == nil || !errors.Is(got, want) {
			t.Errorf("after %s: %v came %+v, %v", name, want, event, got)
		}
	}
}

func TestErrorEventIsAStatusByItsFields(t *testing.T) {
	for object, want := range map[string]string{
		`{"code":410,"reason":"Expired","message":"too old"}`:   "410 Expired: too old",
		`{"status":"Failure","reason":"Expired","code":410}`:    "410 Expired: ",
		`{"reason":"Expired","message":"too old"}`:              "410 Expired: too old",
		`{"status":"Failure","message":"no"}`:                   "no",
		`{"kind":"Status","status":"Failure","code":429}`:       "429: ",
		`{"code":504,"details":{"retryAfterSeconds":3}}`:        "504: ",
		`{"kind":"ConfigMap","metadata":{"name":"a"}}`:          "500 InternalError",
		`{"code":200,"message":"fine"}`:                         "500 InternalError",
		`{"kind":"Pod","status":{"phase":"Failed"},"code":410}`: "500 InternalError",
		`null`: "500 InternalError",
		`{"kind":"Status","code":410,"metadata":{"resourceVersion":7}}`: "410: ",
	} {
		_, err := readAll(t, mustNew(t, serve(t, body(`{"type":"ERROR","object":`+object+`}`)), Options[*configMap]{}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s became %v, want %q", object, err, want)
		}
	}
}

func TestWatchFrames(t *testing.T) {
	const object = `{"metadata":{"name":"a","namespace":"n","resourceVersion":"5"}}`
	const next = "\n" + `{"type":"MODIFIED","object":{"metadata":{"name":"z","resourceVersion":"9"}}}` + "\n"
	for name, test := range map[string]struct {
		text string
		want string // the first event, or the error after none
	}{
		"as servers write it": {`{"type":"ADDED","object":` + object + `}` + next, "ADDED n/a@5"},
		"object first":        {`{"object":` + object + `,"type":"DELETED"}` + next, "DELETED n/a@5"},
		"more members":        {`{"type":"ADDED","object":` + object + `,"x":{"y":1}}` + next, "ADDED n/a@5"},
		"white space":         {"{ \"type\" : \"ADDED\" ,\r\n \"object\" : " + object + " }" + next, "ADDED n/a@5"},
		"object within":       {`{"type":"ADDED","object":{"metadata":{"name":"a"},"data":{"type":"DELETED"}}}` + next, "ADDED a@"},
		"bad object":          {`{"type":"MODIFIED","object":{"metadata":{"name":"a","resourceVersion":"5"},"data":7}}` + next, "MODIFIED a@5 (bad)"},
		"no name":             {`{"type":"ADDED","object":{"metadata":{"resourceVersion":"5"}}}` + next, "ADDED @5 (bad)"},
		"bookmark":            {`{"type":"BOOKMARK","object":{"kind":"ConfigMap","metadata":{"resourceVersion":"6"}}}` + next, "BOOKMARK @6"},
		"annotation not true": {`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"6","annotations":{"k8s.io/initial-events-end":"false"}}}}` + next, "BOOKMARK @6"},
		"annotation true":     {`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"6","annotations":{"k8s.io/initial-events-end":"true"}}}}` + next, "BOOKMARK @6 (end of initial events)"},
		"null object":         {`{"type":"ADDED","object":null}` + next, "ADDED @ (bad)"},
		"unknown type":        {`{"type":"FROBNICATED","object":` + object + `}` + next, `event of the unknown type "FROBNICATED"`},
		"type in lower case":  {`{"type":"added","object":` + object + `}` + next, `event of the unknown type "added"`},
		"no object":           {`{"type":"ADDED"}` + next, "needs a type and an object"},
		"no type":             {`{"object":` + object + `}` + next, "needs a type and an object"},
		"no event":            {`{"a":1}` + next, "needs a type and an object"},
		"error without status": {
			`{"type":"ERROR","object":{"kind":"ConfigMap"}}` + next, "500 InternalError",
		},
		"bookmark of no object": {`{"type":"BOOKMARK","object":"x"}` + next, "decode a bookmark"},
	} {
		t.Run(name, func(t *testing.T) {
			events, err := readAll(t, mustNew(t, serve(t, body(test.text)), Options[*configMap]{}))
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
