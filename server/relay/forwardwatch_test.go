package relay

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/transport"
	"github.com/relist-go/relist/transport/discovery"
)

// TestEndOfAForwardedWatch has what is sent of a watch that the upstream answers when its reader
// has no right any more. The first part was sent before.
func TestEndOfAForwardedWatch(t *testing.T) {
	t.Parallel()
	client, err := transport.NewClient(transport.Config{Server: "http://localhost"})
	must.OK(t, err)
	r, err := New(client, Options{
		Resources: []discovery.Resource{{
			GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Kind: "Pod", Verbs: []string{"list", "watch"},
		}},
		Authenticate: func(*http.Request) (*User, error) { return &User{Name: "alice"}, nil },
		Authorize:    func(context.Context, *User, Attributes) (Decision, error) { return Decision{}, nil },
	})
	must.OK(t, err)
	statuses := regexp.MustCompile(`\{"type":"ERROR",.*"code":403\}\}\n`)
	for _, tt := range []struct{ what, form, before, after, want string }{
		{"between two events", "application/json", "{1}\n", "{2}\n", "{1}\nERROR"},
		{"before the first", "application/json", "", "{1}\n", "ERROR"},
		{"in an event", "application/json", "{1}\n{", "2}\n{3}\n", "{1}\n{2}\nERROR"},
		{"in an event that is longer", "application/json", "{1}\n{", "2", "{1}\n{"},
		{"in another form", "application/vnd.kubernetes.protobuf;stream=watch", "1", "2\n3", "1"},
	} {
		w := httptest.NewRecorder()
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/pods?watch=1", nil)
		g := r.newGuard(req, &User{Name: "alice"}, Attributes{Verb: "watch", Resource: "pods"}, r.upstreams[0])
		r.askWatch(w, g, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", tt.form)
			w.WriteHeader(http.StatusOK)
			_, _ = w.Write([]byte(tt.before))
			g.asked = g.asked.Add(-recheck)
			if _, err := w.Write([]byte(tt.after)); err == nil {
				t.Errorf("%s: the upstream can go on", tt.what)
			}
		})
		if got := statuses.ReplaceAllString(w.Body.String(), "ERROR"); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.what, got, tt.want)
		}
	}
}

// TestRefusalBeforeAForwardedWatch has the answer to a watch whose reader has lost the right while
// the upstream does not answer.
func TestRefusalBeforeAForwardedWatch(t *testing.T) {
	t.Parallel()
	guarded(t, Options{}, func(r *rig, a *authority) {
		if _, err := r.server.Hold("watch"); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() { a.set(func() { delete(a.tokens, "t-alice") }) })
		client := &http.Client{Transport: bearing{"t-alice", r.http.Transport}}
		got := r.do(client, "http://localhost/api/v1/pods?watch=true", func(req *http.Request) {
			req.Header.Set("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
		})
		if got.code != http.StatusUnauthorized || !strings.Contains(got.body, `"code":401}`) {
			t.Errorf("%d %q", got.code, got.body)
		}
	})
}
