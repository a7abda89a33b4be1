package transport

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"
)

func base64Of(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

func TestParseExecCredential(t *testing.T) {
	const head = `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential"`
	for _, tt := range []struct{ in, wantErr string }{
		{head + `,"status":{"token":"swordfish"}}`, ""},
		{head + `,"status":{"token":"swordfish","expirationTimestamp":"2026-11-20T10:00:00Z"},"new":1} ` + "\n", ""},
		{head + `,"status":{"token":"swordfish","expirationTimestamp":null}}`, ""},
		{"apiVersion: client.authentication.k8s.io/v1\nkind: ExecCredential\nstatus:\n  token: swordfish\n", ""},
		{"---\napiVersion: client.authentication.k8s.io/v1\nkind: ExecCredential\nstatus: {token: 12345678}\n", "/status/token is not what it should be"},
		{"a: *swordfish", "it printed no JSON: see byte 0"},
		{"", "it printed nothing"},
		{" \n", "it printed nothing"},
		{"swordfish", "it printed no JSON: see byte 0"},
		{head + `,"status":{"token":"swordfish"}}{}`, "it printed no JSON: see byte"},
		{head + `,"status":{"token":["swordfish"]}}`, "/status/token is not what it should be"},
		{head + `,"status":{"expirationTimestamp":"swordfish"}}`, "/status/expirationTimestamp is not what it should be"},
		{`{"apiVersion":"client.authentication.k8s.io/v1","kind":"Other"}`, `kind "Other"`},
		{`{"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential"}`, `of "client.authentication.k8s.io/v1beta1", but is configured for`},
		{head + `}`, "without a status"},
		{head + `,"status":{}}`, "neither a token nor a client certificate"},
		{head + `,"status":{"clientKeyData":"swordfish"}}`, "only one of"},
		{head + `,"status":{"token":"sword fish"}}`, "the token has a space"},
		{head + `,"status":{"clientKeyData":"swordfish","clientCertificateData":"swordfish"}}`, "a client certificate that cannot be used"},
	} {
		got, err := parseExecCredential([]byte(tt.in), execV1)
		checkError(t, err, tt.wantErr)
		if err != nil {
			if strings.Contains(err.Error(), "sword") {
				t.Errorf("%s: the error quotes the secret: %v", tt.in, err)
			}
			continue
		}
		if got.credential.authorization != "Bearer swordfish" {
			t.Errorf("%s: credential %+v", tt.in, got.credential)
		}
		if want := strings.Contains(tt.in, "2026"); want == got.expires.IsZero() || want && !got.expires.Equal(time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)) {
			t.Errorf("%s: expires %v", tt.in, got.expires)
		}
	}
}
