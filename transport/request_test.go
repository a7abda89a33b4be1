package transport

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/internal/must"
)

func TestImpersonationHeader(t *testing.T) {
	for _, tt := range []struct {
		name    string
		in      Impersonation
		want    http.Header
		wantErr string
	}{
		{"nobody", Impersonation{}, nil, ""},
		{"a user", Impersonation{User: "jane"}, http.Header{"Impersonate-User": {"jane"}}, ""},
		{
			"everything",
			Impersonation{
				User: "jane", UID: "06f6ce97", Groups: []string{"dev", "ops"},
				Extra: map[string][]string{"scopes": {"view", "edit"}, "acme.com/project%": {"x"}, "Scopes": {"more"}},
			},
			http.Header{
				"Impersonate-User": {"jane"}, "Impersonate-Uid": {"06f6ce97"}, "Impersonate-Group": {"dev", "ops"},
				"Impersonate-Extra-Scopes": {"more", "view", "edit"}, "Impersonate-Extra-Acme.com%2fproject%25": {"x"},
			},
			"",
		},
		{"a group without a user", Impersonation{Groups: []string{"dev"}}, nil, "no User"},
		{"a UID without a user", Impersonation{UID: "1"}, nil, "no User"},
		{"extra without a user", Impersonation{Extra: map[string][]string{"a": {"b"}}}, nil, "no User"},
		{"a key that is empty", Impersonation{User: "jane", Extra: map[string][]string{"": {"b"}}}, nil, "a key that is empty"},
		{"a second header", Impersonation{User: "jane\r\nX: y"}, nil, "Impersonate-User has a control character"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.in.header()
			checkError(t, err, tt.wantErr)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestImpersonation(t *testing.T) {
	var seen http.Header
	cfg := serve(t, func(_ http.ResponseWriter, r *http.Request) { seen = r.Header.Clone() })
	cfg.BearerToken = "mine"
	cfg.Impersonate = Impersonation{User: "jane", Groups: []string{"dev", "ops"}}
	c := newTestClient(t, cfg)
	for range 2 { // the first must not use them up
		must.OK(t, getAll(t.Context(), c, "/"))
		if seen.Get("Authorization") != "Bearer mine" || seen.Get("Impersonate-User") != "jane" || len(seen["Impersonate-Group"]) != 2 {
			t.Errorf("the server was shown %v", seen)
		}
	}
	resp, err := c.Get(t.Context(), Request{Path: "/", Header: http.Header{"Impersonate-User": {"joe"}}})
	must.OK(t, err)
	resp.Body.Close()
	if seen.Get("Impersonate-User") != "joe" || seen.Get("Impersonate-Group") != "" {
		t.Errorf("the server was shown %v: two users in one", seen)
	}
}
