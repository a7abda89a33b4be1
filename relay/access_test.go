package relay

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/relist-go/relist/transport"
)

// authority answers TokenReviews and SubjectAccessReviews.
type authority struct {
	mu     sync.Mutex
	tokens map[string]string // the user of a token
	rights map[string]string // "user verb resource namespace name", where * is anything
	asked  int
}

func (a *authority) RoundTrip(req *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked++
	var review struct {
		Spec struct {
			Token string
			accessSpec
		}
	}
	if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
		return nil, err
	}
	status := map[string]any{}
	if strings.HasSuffix(req.URL.Path, "/tokenreviews") {
		if user := a.tokens[review.Spec.Token]; user != "" {
			status = map[string]any{"authenticated": true, "user": map[string]any{"username": user}}
		}
	} else {
		status["allowed"] = a.allows(review.Spec.accessSpec)
	}
	body, err := json.Marshal(map[string]any{"status": status})
	return &http.Response{
		StatusCode: http.StatusCreated, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)), Request: req,
	}, err
}

func (a *authority) allows(s accessSpec) bool {
	want := []string{s.User}
	if r := s.Resource; r != nil {
		want = append(want, r.Verb, r.Resource, r.Namespace, r.Name)
	} else {
		want = append(want, s.Path.Verb, s.Path.Path)
	}
	for right := range a.rights {
		have := strings.Split(right, " ")
		ok := len(have) == len(want)
		for i := 0; ok && i < len(want); i++ {
			ok = have[i] == "*" || have[i] == want[i]
		}
		if ok {
			return true
		}
	}
	return false
}

func (a *authority) questions() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked
}

func (a *authority) set(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
}

// guarded runs a test with an authority that knows alice, who may read everything, bob, who may read the namespace shop, and carol, who may get
// one Pod and list none.
func guarded(t *testing.T, opts Options, test func(r *rig, a *authority)) {
	t.Helper()
	a := &authority{
		tokens: map[string]string{"t-alice": "alice", "t-bob": "bob", "t-carol": "carol"},
		rights: map[string]string{
			"alice * * * *": "", "alice get *": "", "bob list pods shop ": "", "bob watch pods shop ": "", "carol get pods shop a": "", "carol watch pods shop a": "",
		},
	}
	client, err := transport.NewClient(transport.Config{Server: "http://localhost", RoundTripper: a})
	if err != nil {
		t.Fatal(err)
	}
	opts.Authenticate = FirstOf(ClientCertificates, TokenReviews(client, time.Minute))
	opts.Authorize = AccessReviews(client, time.Minute, 10*time.Second)
	play(t, opts, func(r *rig) {
		r.create("a", "n1")
		r.create("b", "n2")
		test(r, a)
	})
}

// TestAuthority has what readers try, and what they get.
func TestAuthority(t *testing.T) {
	t.Parallel()
	guarded(t, Options{}, func(r *rig, _ *authority) {
		for _, tt := range []struct {
			what, token, path string
			header            string // "Name: value"
			want              int
		}{
			{"no token", "", "/api/v1/pods?resourceVersion=0", "", 401},
			{"a token that nobody has", "t-dave", "/api/v1/pods?resourceVersion=0", "", 401},
			{"basic authentication", "", "/api/v1/pods?resourceVersion=0", "Authorization: Basic YWxpY2U6", 401},
			{"everything", "t-alice", "/api/v1/pods?resourceVersion=0", "", 200},
			{"everything, from the server", "t-alice", "/api/v1/pods", "", 200},
			{"another namespace", "t-bob", "/api/v1/pods?resourceVersion=0", "", 403},
			{"the own namespace", "t-bob", "/api/v1/namespaces/shop/pods?resourceVersion=0", "", 200},
			{"a field selector that names the namespace", "t-bob", "/api/v1/pods?resourceVersion=0&fieldSelector=metadata.namespace%3Dshop", "", 403},
			{"a selector that counts what is elsewhere", "t-bob", "/api/v1/pods?resourceVersion=0&limit=1&labelSelector=app%3Da", "", 403},
			{"one object, where the list is allowed", "t-bob", "/api/v1/namespaces/shop/pods/a?resourceVersion=0", "", 403},
			{"the object", "t-carol", "/api/v1/namespaces/shop/pods/a?resourceVersion=0", "", 200},
			{"the object, from the server", "t-carol", "/api/v1/namespaces/shop/pods/a", "", 200},
			{"another object", "t-carol", "/api/v1/namespaces/shop/pods/b?resourceVersion=0", "", 403},
			{"the list", "t-carol", "/api/v1/namespaces/shop/pods?resourceVersion=0", "", 403},
			{"a list of the object's name", "t-carol", "/api/v1/namespaces/shop/pods?resourceVersion=0&fieldSelector=metadata.name%3Da", "", 403},
			{"an object that is watched", "t-carol", "/api/v1/namespaces/shop/pods/b?watch=true&resourceVersion=0", "", 403},
			{"a watch, where the list is allowed", "t-bob", "/api/v1/pods?watch=1&resourceVersion=0", "", 403},
			{"a continue token of another namespace", "t-bob", "/api/v1/namespaces/shop/pods?continue=" + token("none/x"), "", 200},
			{"a continue token that leads out", "t-bob", "/api/v1/namespaces/shop/pods?continue=" + token("../none/x"), "", 400},
			{"the status of an object", "t-carol", "/api/v1/namespaces/shop/pods/a/status", "", 403},
			{"a subresource", "t-alice", "/api/v1/namespaces/shop/pods/a/log", "", 403},
			{"another resource", "t-alice", "/api/v1/secrets", "", 403},
			{"another version", "t-alice", "/api/v2/pods?resourceVersion=0", "", 403},
			{"dots in the path", "t-bob", "/api/v1/namespaces/shop/../other/pods?resourceVersion=0", "", 400},
			{"escaped dots", "t-bob", "/api/v1/namespaces/shop/%2e%2e/other/pods?resourceVersion=0", "", 400},
			{"an escaped slash", "t-bob", "/api/v1/namespaces/shop%2f..%2fother/pods?resourceVersion=0", "", 400},
			{"two slashes", "t-bob", "/api/v1/namespaces//pods?resourceVersion=0", "", 400},
			{"another user's name", "t-bob", "/api/v1/pods?resourceVersion=0", "Impersonate-User: alice", 403},
			{"another group", "t-bob", "/api/v1/pods?resourceVersion=0", "Impersonate-Group: system:masters", 403},
			{"discovery", "t-alice", "/api/v1", "", 200},
			{"discovery that is not allowed", "t-bob", "/api/v1", "", 403},
		} {
			got := r.do(r.http, "http://localhost", func(req *http.Request) {
				req.URL.Opaque, req.URL.RawQuery, _ = strings.Cut(tt.path, "?") // as it is, escapes and dots included
				if tt.token != "" {
					req.Header.Set("Authorization", "Bearer "+tt.token)
				}
				if name, value, found := strings.Cut(tt.header, ": "); found {
					req.Header.Set(name, value)
				}
			})
			if got.code != tt.want {
				t.Errorf("%s: %s as %q: %+v, want %d", tt.what, tt.path, tt.token, got, tt.want)
			}
		}
		if n := r.count("/secrets"); n > 0 {
			t.Errorf("the server was asked for Secrets")
		}
	})
}

// token returns a continue token.
func token(start string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v1","rv":-1,"start":"` + start + `"}`))
}

// TestWithdrawnRights shows that a watch ends when its reader loses the right or the token, within the time for which an answer is
// remembered, and that the answers of a thousand requests are one question.
func TestWithdrawnRights(t *testing.T) {
	t.Parallel()
	for what, withdraw := range map[string]func(a *authority){
		"ERROR 403, EOF": func(a *authority) { delete(a.rights, "alice * * * *") },
		"ERROR 401, EOF": func(a *authority) { delete(a.tokens, "t-alice") },
	} {
		guarded(t, Options{}, func(r *rig, a *authority) {
			r.http.Transport = bearing{"t-alice", r.http.Transport}
			asked := a.questions()
			w := r.watch("resourceVersion=3")
			for range 1000 {
				r.get("/api/v1/pods?resourceVersion=0")
			}
			if n := a.questions() - asked; n > 3 { // a token, a watch, a list
				t.Errorf("the server was asked %d times", n)
			}
			later(20 * time.Minute)
			a.set(func() { withdraw(a) })
			start := time.Now()
			if got := w.next(2); got != what || time.Since(start) > time.Minute+recheck {
				t.Errorf("%s after %v, want %s", got, time.Since(start), what)
			}
		})
	}
}

// bearing sends a token.
type bearing struct {
	token string
	http.RoundTripper
}

func (b bearing) RoundTrip(req *http.Request) (*http.Response, error) {
	req.Header.Set("Authorization", "Bearer "+b.token)
	return b.RoundTripper.RoundTrip(req)
}

func (b bearing) CloseIdleConnections() { b.RoundTripper.(*http.Transport).CloseIdleConnections() }
