package apiserver

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/relist-go/relist/internal/must"
)

// TestRefill changes the definition of a custom type: kube-apiserver then ends the watches of the
// type, and its window is empty. The fault of that name does the same.
func TestRefill(t *testing.T) {
	const widgets = "/apis/example.com/v1/namespaces/{ns}/widgets"
	ours, theirs := apitestSide(t), realSide(t)
	refill := map[*side]request{
		ours: post("/_faults/refill?resource=widgets.example.com", ""),
		theirs: patch("merge-patch+json", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com",
			`{"spec":{"names":{"shortNames":["wd","wdg"]}}}`),
	}
	views := make(map[*side][]string)
	for side, change := range refill { // each by itself: the order does not matter
		s := side.section("s-refill")
		s.answer(t, post("/api/v1/namespaces", `{"metadata":{"name":"{ns}"}}`))
		s.answer(t, post(widgets, kinds[6].object("a")).as("a"))
		s.answer(t, post("/api/v1/namespaces/{ns}/configmaps", `{"metadata":{"name":"later"}}`))
		ended := s.watch(t, widgets+"?watch=1&timeoutSeconds=60&resourceVersion={a.rv}")
		if a := s.send(t, change); a.status != http.StatusOK {
			t.Fatalf("%s: %d %s", side.name, a.status, a.body)
		}
		if body, took := ended(); body != "" || took > 50*time.Second {
			t.Errorf("%s: the watch brings %q and lasts %v, want nothing and an early end", side.name, body, took)
		}
		// A cache that is being filled again says 429 for a moment.
		for s.send(t, get(widgets+"?resourceVersion=0")).status == http.StatusTooManyRequests {
			<-time.After(100 * time.Millisecond)
		}
		views[side] = append(views[side], s.answer(t, get(widgets+"?watch=1&timeoutSeconds=1&resourceVersion={a.rv}")))
		views[side] = append(views[side], s.answer(t, get(widgets+"?resourceVersion=0")))
	}
	for i, theirs := range views[theirs] {
		if views[ours][i] != theirs {
			t.Errorf("answer %d is of kube-apiserver\n%s\nand of apitest\n%s", i, theirs, views[ours][i])
		}
	}
}

// watch opens a watch. The function that it returns waits until the watch has ended cleanly.
func (s *side) watch(t *testing.T, path string) (ended func() (body string, took time.Duration)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+s.expand(path), nil)
	must.OK(t, err)
	req.Header.Set("Authorization", "Bearer "+s.token)
	resp, err := s.client.Do(req) //nolint:bodyclose // the function that is returned closes it
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	begin := time.Now()
	return func() (string, time.Duration) {
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Errorf("%s: the watch ends with %v", s.name, err)
		}
		return string(body), time.Since(begin)
	}
}
