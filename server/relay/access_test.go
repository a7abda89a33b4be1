package relay

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/transport"
	"github.com/relist-go/relist/transport/discovery"
)

// authority answers TokenReviews and SubjectAccessReviews.
type authority struct {
	mu     sync.Mutex
	tokens map[string]string // the user of a token
	rights map[string]string // "user verb resource namespace name", where * is anything
	asked  int
	down   bool          // it answers nothing
	refuse int           // or refuses the relay's own user with this code, while it is down
	slow   time.Duration // from the answer until it comes
}

func (a *authority) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, slow, err := a.answer(req)
	select {
	case <-time.After(slow):
		return resp, err
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}

func (a *authority) answer(req *http.Request) (_ *http.Response, slow time.Duration, _ error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch a.asked++; {
	case a.down && a.refuse > 0:
		return &http.Response{StatusCode: a.refuse, Header: http.Header{}, Body: http.NoBody, Request: req}, a.slow, nil
	case a.down:
		return nil, a.slow, errors.New("it is down")
	}
	var review struct {
		Spec struct {
			Token string
			accessSpec
		}
	}
	if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
		return nil, 0, err
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
	}, a.slow, err
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

// guarded runs a test with an authority that knows alice, who may read everything; bob, who may
// read the Pods of the namespace shop; carol, who may get and watch one of them, a; dora, who may
// list that one; and erin, who may get a namespace.
func guarded(t *testing.T, opts Options, test func(r *rig, a *authority)) {
	t.Helper()
	a := &authority{
		tokens: map[string]string{"t-alice": "alice", "t-bob": "bob", "t-carol": "carol", "t-dora": "dora", "t-erin": "erin"},
		rights: map[string]string{
			"alice * * * *": "", "alice get *": "", "bob list pods shop ": "", "bob watch pods shop ": "", "carol get pods shop a": "", "carol watch pods shop a": "",
			"dora list pods shop a": "", "erin get namespaces shop shop": "",
		},
	}
	client, err := transport.NewClient(transport.Config{Server: "http://localhost", RoundTripper: a})
	must.OK(t, err)
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
	const (
		all    = "/api/v1/pods"
		shop   = "/api/v1/namespaces/shop/pods"
		cached = "?resourceVersion=0"
		named  = "fieldSelector=metadata.name%3D"
		first  = "timeoutSeconds=1&resourceVersion=0"
	)
	namespaces := discovery.Resource{
		GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, Kind: "Namespace", Verbs: []string{"list", "watch"},
	}
	guarded(t, Options{Resources: []discovery.Resource{namespaces}}, func(r *rig, _ *authority) {
		for _, tt := range []struct {
			what, token, path string // GET, if the path has no method
			header            string // "Name: value"
			want              int
			lacks             string // what the answer must not have
		}{
			// Who is it?
			{"no token", "", all + cached, "", 401, ""},
			{"a token that nobody has", "t-dave", all + cached, "", 401, ""},
			{"a token in capitals", "T-ALICE", all + cached, "", 401, ""},
			{"a token and more", "t-alice x", all + cached, "", 401, ""},
			{"a token that is no text", "t-alice\xff", all + cached, "", 401, ""},
			{"basic authentication", "", all + cached, "Authorization: Basic YWxpY2U6", 401, ""},
			{"the header of a front proxy", "", all + cached, "X-Remote-User: alice", 401, ""},
			{"the token as a protocol without a WebSocket", "", all + cached, "Sec-Websocket-Protocol: " + tokenProtocol + "dC1hbGljZQ", 401, ""},
			{"a token as a parameter", "", all + cached + "&access_token=t-alice&token=t-alice", "", 401, ""},

			// What may they read?
			{"everything", "t-alice", all + cached, "", 200, ""},
			{"everything, from the server", "t-alice", all, "", 200, ""},
			{"another namespace", "t-bob", all + cached, "", 403, ""},
			{"the own namespace", "t-bob", shop + cached, "", 200, ""},
			{"the state before the window", "t-bob", all + "?resourceVersion=1&resourceVersionMatch=Exact", "", 403, ""},
			{"one object, where the list is allowed", "t-bob", shop + "/a" + cached, "", 403, ""},
			{"the object", "t-carol", shop + "/a" + cached, "", 200, ""},
			{"the object, from the server", "t-carol", shop + "/a", "", 200, ""},
			{"another object", "t-carol", shop + "/b" + cached, "", 403, ""},
			{"an object that is not there", "t-carol", shop + "/none" + cached, "", 403, ""},
			{"the list", "t-carol", shop + cached, "", 403, ""},
			{"a list of the object's name", "t-carol", shop + cached + "&" + named + "a", "", 403, ""},
			{"an object that is watched", "t-carol", shop + "/b?watch=true&resourceVersion=0", "", 403, ""},
			{"a watch, where the list is allowed", "t-bob", all + "?watch=1&resourceVersion=0", "", 403, ""},
			{"a watch of the most recent state", "t-bob", all + "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "", 403, ""},
			{"a namespace, by a right in it", "t-erin", "/api/v1/namespaces/shop" + cached, "", 404, ""},
			{"another namespace than that", "t-erin", "/api/v1/namespaces/default" + cached, "", 403, ""},
			{"metadata alone", "t-bob", all + cached, "Accept: application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", 403, ""},
			{"a table", "t-bob", all + cached, "Accept: application/json;as=Table;g=meta.k8s.io;v=v1", 403, ""},
			{"protobuf", "t-bob", all + cached, "Accept: application/vnd.kubernetes.protobuf", 403, ""},
			{"discovery", "t-alice", "/api/v1", "", 200, ""},
			{"discovery that is not allowed", "t-bob", "/api/v1", "", 403, ""},
			{"the schema", "t-bob", "/openapi/v3/api/v1", "", 403, ""},

			// What do selectors, limits and tokens tell?
			{"a field selector that names the namespace", "t-bob", all + cached + "&fieldSelector=metadata.namespace%3Dshop", "", 403, ""},
			{"a selector that counts what is elsewhere", "t-bob", all + cached + "&limit=1&labelSelector=app%3Da", "", 403, ""},
			{"a selector that the relay cannot judge", "t-bob", all + cached + "&fieldSelector=spec.none%3Dx", "", 403, ""},
			{"a shard", "t-bob", all + cached + "&shardSelector=x", "", 403, ""},
			{"the list of one name", "t-dora", shop + cached + "&" + named + "a", "", 200, `"name":"b"`},
			{"the list of one name, with what follows", "t-dora", shop + "?resourceVersion=1&limit=1&resourceVersionMatch=NotOlderThan&" + named + "a", "", 200, "ontinue"},
			{"the number of the others", "t-dora", shop + "?resourceVersion=1&limit=1&resourceVersionMatch=NotOlderThan&" + named + "a", "", 200, "emaining"},
			{"two names", "t-dora", shop + cached + "&" + named + "a&" + named + "b", "", 200, `"name":"b"`},
			{"two names, from the server", "t-dora", shop + "?" + named + "a&" + named + "b", "", 200, `"name":"b"`},
			{"the other order", "t-dora", shop + "?" + named + "b&" + named + "a", "", 403, ""},
			{"two names in one selector", "t-dora", shop + cached + "&" + named + "a,metadata.name%3Db", "", 200, `"name":`},
			{"no name first", "t-dora", shop + cached + "&fieldSelector=&" + named + "a", "", 403, ""},
			{"all other names", "t-dora", shop + cached + "&fieldSelector=metadata.name%21%3Da", "", 403, ""},
			{"another parameter", "t-dora", shop + cached + "&FieldSelector=metadata.name%3Da", "", 403, ""},
			{"a semicolon", "t-dora", shop + cached + ";" + named + "a", "", 403, ""},
			{"a watch of one name", "t-carol", shop + "?watch=1&" + first + "&" + named + "a", "", 200, `"name":"b"`},
			{"a watch of two names", "t-carol", shop + "?watch=1&" + first + "&" + named + "a&" + named + "b", "", 200, `"name":"b"`},
			{"a watch that is none", "t-carol", shop + "?watch=0&watch=1&" + first + "&" + named + "a", "", 403, ""},
			{"a list that is none", "t-dora", shop + "?watch=1&watch=0&" + first + "&" + named + "a", "", 403, ""},
			{"a continue token of another namespace", "t-bob", shop + "?continue=" + token("none/x"), "", 200, ""},
			{"a continue token of everything", "t-bob", all + "?continue=" + token("none/x"), "", 403, ""},
			{"a continue token that leads out", "t-bob", shop + "?continue=" + token("../none/x"), "", 400, ""},

			// What do paths and methods reach?
			{"the status of an object", "t-carol", shop + "/a/status", "", 403, ""},
			{"a subresource", "t-alice", shop + "/a/log", "", 403, ""},
			{"another resource", "t-alice", "/api/v1/secrets", "", 403, ""},
			{"another version", "t-alice", "/api/v2/pods" + cached, "", 403, ""},
			{"the old path of watches", "t-bob", "/api/v1/watch/pods", "", 403, ""},
			{"the old path of watches in a namespace", "t-bob", "/api/v1/watch/namespaces/shop/pods", "", 403, ""},
			{"an object without its namespace", "t-alice", all + "/a" + cached, "", 403, ""},
			{"what runs in the server", "t-alice", "/metrics", "", 403, ""},
			{"dots in the path", "t-bob", "/api/v1/namespaces/shop/../other/pods" + cached, "", 400, ""},
			{"escaped dots", "t-bob", "/api/v1/namespaces/shop/%2e%2e/other/pods" + cached, "", 400, ""},
			{"dots that are escaped twice", "t-bob", "/api/v1/namespaces/%252e%252e/other/pods" + cached, "", 400, ""},
			{"an escaped slash", "t-bob", "/api/v1/namespaces/shop%2f..%2fother/pods" + cached, "", 400, ""},
			{"two slashes", "t-bob", "/api/v1/namespaces//pods" + cached, "", 400, ""},
			{"a zero byte", "t-carol", shop + "/a%00" + cached, "", 400, ""},
			{"what is no text", "t-carol", shop + "/a%ff" + cached, "", 400, ""},
			{"a dot behind", "t-bob", "/api/v1/namespaces/shop./pods" + cached, "", 403, ""},
			{"a parameter of a path", "t-carol", shop + "/a;b" + cached, "", 403, ""},
			{"a question mark in a name", "t-carol", shop + "/b%3Fa" + cached, "", 403, ""},
			{"capitals", "t-bob", "/api/v1/namespaces/SHOP/pods" + cached, "", 403, ""},
			{"an escaped letter", "t-bob", "/api/v1/%70ods" + cached, "", 403, ""},
			{"another server's URL", "t-bob", "//other/api/v1/pods" + cached, "", 403, ""},
			{"a deletion", "t-alice", "DELETE " + shop + "/a", "", 405, ""},
			{"the deletion of all", "t-alice", "DELETE " + shop, "", 405, ""},
			{"a write", "t-alice", "POST " + shop, "", 405, ""},
			{"another method that reads", "t-alice", "HEAD " + shop, "", 405, ""},
			{"a method that a header names", "t-bob", shop + "/a" + cached, "X-Http-Method-Override: LIST", 403, ""},

			// Who else could it be?
			{"another user's name", "t-bob", all + cached, "Impersonate-User: alice", 403, ""},
			{"another user's name, who may read it", "t-alice", all, "Impersonate-User: bob", 403, ""},
			{"another group", "t-bob", all + cached, "Impersonate-Group: system:masters", 403, ""},
			{"another uid", "t-bob", shop + cached, "Impersonate-Uid: 1", 403, ""},
			{"a scope", "t-bob", shop + cached, "Impersonate-Extra-Scopes: all", 403, ""},
			{"a name in small letters", "t-bob", shop + cached, "impersonate-user: alice", 403, ""},
			{"a name with an underscore, which is no name", "t-bob", all, "Impersonate_User: alice", 403, ""},
			{"a front proxy's name", "t-bob", all, "X-Remote-User: alice", 403, ""},
		} {
			r.forget()
			got := r.do(r.http, "http://localhost", func(req *http.Request) {
				method, path, found := strings.Cut(tt.path, " ")
				if !found {
					method, path = http.MethodGet, tt.path
				}
				req.Method = method
				req.URL.Opaque, req.URL.RawQuery, _ = strings.Cut(path, "?") // as it is, escapes and dots included
				if tt.token != "" {
					req.Header.Set("Authorization", "Bearer "+tt.token)
				}
				if name, value, found := strings.Cut(tt.header, ": "); found {
					req.Header[name] = []string{value} // in the letters of the test
				}
			})
			if got.code != tt.want || tt.lacks != "" && strings.Contains(got.body, tt.lacks) {
				t.Errorf("%s: %s as %q: %+v, want %d without %q", tt.what, tt.path, tt.token, got, tt.want, tt.lacks)
			}
			if n := r.count(""); n > 0 && tt.want != 200 {
				t.Errorf("%s: the server was asked: %q", tt.what, r.requests)
			}
		}
	})
}

// token returns a continue token.
func token(start string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v1","rv":-1,"start":"` + start + `"}`))
}

// TestWithdrawnRights shows that a watch ends when its reader loses the right or the token, within
// the time for which an answer is remembered, and that the answers of a thousand requests are one
// question.
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

// TestReviewsFail shows that a watch goes on while the whole server is away, and ends if it is
// there and says nothing of its reader. A server that refuses the relay's own user says nothing of
// the reader.
func TestReviewsFail(t *testing.T) {
	t.Parallel()
	for _, code := range []int{0, http.StatusUnauthorized, http.StatusForbidden} {
		guarded(t, Options{}, func(r *rig, a *authority) {
			r.http.Transport = bearing{"t-alice", r.http.Transport}
			w := r.watch("resourceVersion=3&timeoutSeconds=7200")
			a.set(func() { a.down, a.refuse = true, code })
			must.OK(t, r.server.Refuse(0))
			later(20 * time.Minute)
			a.set(func() { a.down = false })
			must.OK(t, r.server.Resume())
			r.create("c", "n1")
			if got := w.next(1); got != "ADDED c@4" {
				t.Errorf("%d: a watch over an outage: %s", code, got)
			}
			later(10 * time.Minute)
			a.set(func() { a.down = true })
			start := time.Now()
			if got := w.next(2); got != "ERROR 503, EOF" || time.Since(start) > time.Minute+unsure+2*recheck {
				t.Errorf("%d: a watch without reviews: %s after %v", code, got, time.Since(start))
			}
		})
	}
}

// TestExpiredCertificate shows that a certificate that was valid when its connection began is not
// valid for ever.
func TestExpiredCertificate(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]time.Duration{"alice": time.Minute, "": -time.Minute} {
		cert := &x509.Certificate{Subject: pkix.Name{CommonName: "alice"}, NotAfter: time.Now().Add(left)}
		req := &http.Request{TLS: &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{cert}}}}
		user, err := ClientCertificates(req)
		if user == nil {
			user = &User{}
		}
		if user.Name != name || err != nil {
			t.Errorf("a certificate with %v left: %q, %v", left, user.Name, err)
		}
	}
}

// TestPassOn has what the upstream gets of a request that is passed on.
func TestPassOn(t *testing.T) {
	t.Parallel()
	var sent *http.Request
	client, err := transport.NewClient(transport.Config{
		Server: "http://upstream", BearerToken: "of-the-relay", AllowInsecureCredentials: true,
		RoundTripper: roundTrip(func(req *http.Request) (*http.Response, error) {
			sent = req
			status := http.StatusOK
			if req.URL.Path == "/unknown" {
				status = http.StatusUnauthorized
			}
			return &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
		}),
	})
	must.OK(t, err)
	var user *User
	r, err := New(client, Options{
		PassOn: true, Authorize: AllowAll,
		Authenticate: func(*http.Request) (*User, error) { return user, nil },
	})
	must.OK(t, err)
	for _, tt := range []struct {
		what, path string
		user       User
		header     http.Header
		want       int
	}{
		{"a user", "/api/v1/namespaces/a/secrets?x=%2F", User{Name: "bob", UID: "7", Groups: []string{"g", "h"}, Extra: map[string][]string{"example.org/a": {"b"}}}, nil, 200},
		{"keys that no header can have", "/x", User{Name: "bob", Extra: map[string][]string{"a:b": {"1"}, "a@b=c": {"2"}, "Key": {"3"}, "key": {"4"}, "100%": {"5"}, "a_b é": {"6"}}}, nil, 200},
		{"credentials", "/x", User{Name: "bob"}, http.Header{"Authorization": {"Bearer of-bob"}, "Cookie": {"a=b"}, "X-Remote-User": {"alice"}}, 200},
		{"a header that is said to be of the connection", "/x", User{Name: "bob"}, http.Header{"Connection": {"Impersonate-User, Authorization"}}, 200},
		{"a name that is not one", "/x", User{Name: "bob"}, http.Header{"Impersonate_user": {"alice"}}, 200},
		{"another name", "/x", User{Name: "bob"}, http.Header{"Impersonate-User": {"alice"}}, 403},
		{"a user whom a header makes another", "/x", User{Name: "alice "}, nil, 403},
		{"a group that a header makes another", "/x", User{Name: "bob", Groups: []string{" system:masters"}}, nil, 403},
		{"a path that leads elsewhere", "/api/v1/namespaces/a/../b/secrets", User{Name: "bob"}, nil, 400},
		{"a server that does not know the relay", "/unknown", User{Name: "bob"}, nil, 503},
	} {
		user, sent = &tt.user, nil
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, tt.path, nil)
		for name, values := range tt.header {
			req.Header[name] = values
		}
		got := httptest.NewRecorder()
		r.ServeHTTP(got, req)
		switch {
		case got.Code != tt.want:
			t.Errorf("%s: %d %s, want %d", tt.what, got.Code, got.Body, tt.want)
		case tt.want != 200:
			continue
		case sent.URL.RequestURI() != tt.path || sent.Header.Get("Authorization") != "Bearer of-the-relay":
			t.Errorf("%s: the server got %s %v", tt.what, sent.URL, sent.Header)
		case !slices.Equal(sent.Header.Values("Impersonate-User"), []string{tt.user.Name}) || !slices.Equal(sent.Header.Values("Impersonate-Group"), tt.user.Groups):
			t.Errorf("%s: the server got %v", tt.what, sent.Header)
		}
		extra := map[string][]string{}
		for name, values := range sent.Header { // each by itself, and as kube-apiserver reads it
			if key, found := strings.CutPrefix(strings.ToLower(name), "impersonate-extra-"); found {
				if key, err = url.PathUnescape(key); err != nil || http.CanonicalHeaderKey(name) != name {
					t.Errorf("%s: %q: %v", tt.what, name, err)
				}
				extra[key] = values
			}
		}
		if !maps.EqualFunc(extra, tt.user.Extra, slices.Equal) {
			t.Errorf("%s: the server got %q", tt.what, extra)
		}
		for name := range tt.header {
			if name != "Authorization" && sent.Header.Get(name) != "" {
				t.Errorf("%s: the server got %s", tt.what, name)
			}
		}
	}
}

// TestNoAddressOfTheServer shows that a reader is told that the API server is away, and not where
// it is.
func TestNoAddressOfTheServer(t *testing.T) {
	t.Parallel()
	away, err := transport.NewClient(transport.Config{Server: "http://secret.internal", RoundTripper: roundTrip(func(*http.Request) (*http.Response, error) {
		return nil, errors.New("dial tcp: lookup secret.internal: no such host")
	})})
	must.OK(t, err)
	user := func(*http.Request) (*User, error) { return &User{Name: "bob"}, nil }
	for _, authorize := range []func(context.Context, *User, Attributes) (Decision, error){AllowAll, AccessReviews(away, time.Minute, time.Minute)} {
		told := "" // to the operator, who may know the address
		problem := func(err error) { told = err.Error() }
		play(t, Options{PassOn: true, Authenticate: user, Authorize: authorize, OnProblem: problem}, func(r *rig) {
			r.create("a", "n1")
			r.relay.client = away
			must.OK(t, r.server.Refuse(0))
			for _, path := range []string{
				"/api/v1/pods", "/api/v1", "/api/v1/secrets", "/api/v1/pods?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
			} {
				host := strings.TrimPrefix(r.listener.URL, "http://")
				if got := r.get(path); got.code != 503 || strings.Contains(got.body, "secret") || strings.Contains(got.body, host) {
					t.Errorf("%s: %+v", path, got)
				}
			}
		})
		if _, err := authorize(t.Context(), &User{}, Attributes{}); err != nil && !strings.HasSuffix(told, err.Error()) {
			t.Errorf("the operator is told %q", told)
		}
	}
}
