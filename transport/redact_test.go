package transport

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/transport/frames"
)

// jwt is as long as the token of a service account, and no part of it repeats.
var jwt = func() string {
	var b strings.Builder
	b.WriteString("eyJhbGciOiJSUzI1NiJ9.")
	for i := range 300 {
		fmt.Fprintf(&b, "%03d", i)
	}
	return b.String()
}()

// leak returns a part of the secret that is in text, "" if there is none.
func leak(text, secret string) string {
	for i := 0; i+minPart <= len(secret); i++ {
		if part := secret[i : i+minPart]; strings.Contains(text, part) {
			return part
		}
	}
	return ""
}

// TestNoErrorQuotesTheCredential has servers that send back the request's header, at
// every distance from the places where errors cut what they quote.
func TestNoErrorQuotesTheCredential(t *testing.T) {
	echoes := map[string]func(before, auth string) string{
		"text with 200": func(before, auth string) string {
			return "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + before + auth + " and more"
		},
		"text that ends in it": func(before, auth string) string {
			return "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + before + auth[:40]
		},
		"text with 502": func(before, auth string) string {
			return "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/plain\r\n\r\n" + before + auth + " and more"
		},
		"Content-Type": func(_, auth string) string {
			return "HTTP/1.1 200 OK\r\nContent-Type: " + auth + "\r\n\r\n{}"
		},
		"Content-Type with 502": func(_, auth string) string {
			return "HTTP/1.1 502 Bad Gateway\r\nContent-Type: " + auth + "\r\n\r\nno"
		},
		"redirection": func(_, auth string) string {
			return "HTTP/1.1 302 Found\r\nLocation: /" + strings.TrimPrefix(auth, "Bearer ") + "\r\n\r\n"
		},
		"no header": func(_, auth string) string {
			return "HTTP/1.1 200 OK\r\n" + auth + "\r\n\r\n"
		},
		"no status line": func(_, auth string) string { return auth + "\r\n\r\n" },
		"stream without frames": func(before, auth string) string {
			return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + before + auth + "\n"
		},
		"stream with a brace too many": func(before, auth string) string {
			return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + `{"a":{]` + before + auth + "\n"
		},
		"frame that is too large": func(before, auth string) string {
			return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + `{"a":"` + before + auth + strings.Repeat("x", 9000) + `"}`
		},
	}
	for name, echo := range echoes {
		for _, before := range []int{0, 3, 20, 50, 61, 63, 64, 200, 230, 250, 255, 256, 300, 3000, 3900, 4085, 4094} {
			cfg := answer([]byte(echo(strings.Repeat(" -", before/2)+strings.Repeat("-", before%2), "Bearer "+jwt)))
			cfg.BearerToken = jwt
			cfg.MaxFrameBytes = 8000
			s, err := newTestClient(t, cfg).Watch(t.Context(), Request{Frames: jsonFrames, Path: "/"})
			if err == nil {
				_, err = s.Next()
				s.Close()
			}
			if err == nil {
				t.Fatalf("%s, %d: no error", name, before)
			}
			text := err.Error()
			if large, ok := errors.AsType[*frames.TooLargeError](err); ok {
				text += string(large.Head)
			}
			if frame, ok := errors.AsType[*frames.Error](err); ok {
				text += frame.Head
			}
			if part := leak(text, jwt); part != "" {
				t.Errorf("%s, %d bytes before it: the error has %q of the token:\n%s", name, before, part, text)
			}
			if len(err.Error()) > 1000 {
				t.Errorf("%s, %d bytes before it: the error is %d bytes long", name, before, len(err.Error()))
			}
		}
	}
}

func TestRedactedErrorKeepsWhatIsUnderIt(t *testing.T) {
	x := &exchange{secrets: secrets{authorization: "Bearer " + jwt}}
	cause := &frames.Error{Reason: "saw " + jwt}
	err := x.fail(fmt.Errorf("%w: %w", http.ErrServerClosed, cause))
	var frame *frames.Error
	if !errors.Is(err, http.ErrServerClosed) || !errors.As(err, &frame) {
		t.Errorf("error %v has lost its cause", err)
	}
	if want := `saw REDACTED, at ""`; !strings.HasSuffix(err.Error(), want) {
		t.Errorf("error %v, want it to end with %q", err, want)
	}
}

func TestRedact(t *testing.T) {
	basic := base64.StdEncoding.EncodeToString([]byte("u:pass-word"))
	for _, tt := range []struct{ authorization, text, want string }{
		{"", "text", "text"},
		{"Bearer short", "short text", "short text"},
		{"Bearer secret-token", "a secret-token, secret-token", "a REDACTED, REDACTED"},
		{"Bearer secret-token", "ends in secret-to", "ends in REDACTED"},
		{"Bearer secret-token", "ends in se", "ends in se"},
		{"Bearer secret-token-of-mine", "cut, secret-token-of-m and secret-token, and more", "cut, REDACTED and REDACTED, and more"},
		{"Bearer secret-token-of-mine", "a secret-token of another", "a REDACTED of another"},
		{"Bearer secret-token-of-mine", "a secret-toke of another", "a secret-toke of another"},
		{"secret-token", "a secret-token", "a REDACTED"},
		{"Basic " + basic, "a " + basic + " of pass-word", "a REDACTED of REDACTED"},
		{"Bearer a+/=secret", "base64 " + base64.StdEncoding.EncodeToString([]byte("a+/=secret")), "base64 REDACTED=="},
		{"Bearer a+/=secret", "header " + base64.StdEncoding.EncodeToString([]byte("Bearer a+/=secret")), "header REDACTED="},
		{"Bearer a+/=secret", "a query of a%2B%2f%3Dsecret", "REDACTED"},
		{"Bearer a+/=secret", `JSON {"a":"a+\/\u003dsecret"}`, "REDACTED"},
		{"Bearer a+/=secret", "HTML a&#43;&#x2F;&#61;secret", "REDACTED"},
		{"Bearer a+/=secret", "ends in a%2B%2F%3Dsec", "REDACTED"},
		{"Bearer secret/token/of/mine", `cut, secret\/token\/of, and more`, "REDACTED"},
		{"Basic " + base64.StdEncoding.EncodeToString([]byte(`u:pa"ss\wo&rd`)), `JSON {"a":"pa\"ss\\wo&rd"}`, "REDACTED"},
		{"Basic " + base64.StdEncoding.EncodeToString([]byte(`u:pa"ss\wo&rd`)), `HTML pa&quot;ss\wo&amp;rd`, "REDACTED"},
		{"Bearer secret-token", "100% of \\u00e9 &#233; \\/ is kept", "100% of \\u00e9 &#233; \\/ is kept"},
	} {
		x := &secrets{authorization: tt.authorization}
		if got := string(x.redact([]byte(tt.text))); got != tt.want {
			t.Errorf("with %q, %q became %q, want %q", tt.authorization, tt.text, got, tt.want)
		}
	}
}

// A text may be cut inside of an escape, which then says nothing of the credential, and
// hides nothing of what stands before it.
func TestTextThatIsCutInAnEscapeIsRedacted(t *testing.T) {
	const token = "ab/cd+ef/gh=ij/kl+mn/op+qr/st"
	x := &secrets{authorization: "Bearer " + token}
	for _, form := range []string{"%%%02X", `\u%04x`, "&#%d;", "&#x%x;"} {
		for _, which := range []string{"/+=", token} {
			var written strings.Builder
			for _, c := range token {
				if strings.ContainsRune(which, c) {
					fmt.Fprintf(&written, form, c)
				} else {
					written.WriteRune(c)
				}
			}
			for end := range written.Len() + 1 {
				text := "saw " + written.String()[:end]
				if got := unescape(x.redact([]byte(text))); bytes.Contains(got, []byte(token[:minPart])) {
					t.Errorf("%q became %q", text, got)
				}
			}
		}
	}
}

// TestStatusIsRedactedAfterDecoding has a server that sends a token back in each text of a
// Status, written with escapes.
func TestStatusIsRedactedAfterDecoding(t *testing.T) {
	const token = "opaque-token"
	written := strings.ReplaceAll(token, "-", `\u002d`)
	body := strings.ReplaceAll(`{"kind":"Status","apiVersion":"v1","metadata":{"selfLink":"T","resourceVersion":"T","continue":"T"},"status":"T","message":"T","reason":"T","code":403,
		"details":{"name":"T","group":"T","kind":"T","uid":"T","causes":[{"reason":"T","message":"T","field":"T"}]}}`, `"T"`, `"a `+written+` b"`)
	cfg := answer([]byte("HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\n\r\n" + body))
	cfg.BearerToken = token
	err := getAll(t.Context(), newTestClient(t, cfg), "/")
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%v %+v", err, status.ErrStatus); strings.Contains(text, token) || strings.Count(text, "a REDACTED b") < 11 {
		t.Errorf("the error is %s", text)
	}
}

func TestFrameRedact(t *testing.T) {
	if text := []byte("secret-token"); !bytes.Equal(Frame{}.Redact(text), text) {
		t.Error("a Frame of no request has changed the text")
	}
	frame := Frame{exchange: &exchange{secrets: secrets{authorization: "Bearer secret-token"}}}
	if got := string(frame.Redact([]byte("a secret-token"))); got != "a REDACTED" {
		t.Errorf("got %q", got)
	}
}

// FuzzRedact looks for the credential in what is left of any text, as it is and without
// its escapes.
func FuzzRedact(f *testing.F) {
	const token = "a+/=secret-token"
	f.Add("x "+token+" y", false)
	f.Add("a%2B%2f%3Dsecret-token", true)
	f.Add(`a+\/\u003dsecret-to`, true)
	f.Add("a+/=secret-ta+/=secret-token", false)
	f.Add("&#97;+/&#x3d;secret-token", false)
	f.Fuzz(func(t *testing.T, text string, cut bool) {
		x := &secrets{authorization: "Bearer " + token}
		got := x.redactWhole([]byte(text))
		if cut {
			got = x.redact([]byte(text))
		}
		for how, seen := range map[string][]byte{"text": got, "text without escapes": unescape(got)} {
			for _, secret := range x.all() {
				if bytes.Contains(seen, secret) {
					t.Errorf("%q became %q: the %s has %q", text, got, how, secret)
				}
				if n := endsIn(seen, secret); cut && n >= minPart {
					t.Errorf("%q became %q: the %s ends in %d bytes of %q", text, got, how, n, secret)
				}
			}
		}
	})
}

// A server that says too much is quoted in part, in an error and in an ERROR event, and what
// is cut there is no part of the credential.
func TestTextsOfAStatusAreBounded(t *testing.T) {
	long := strings.Repeat("é", 100_000)
	cause := fmt.Sprintf(`{"reason":%q,"message":%[1]q,"field":%[1]q}`, long)
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{"continue":"next"},"status":"Failure","message":%q,"reason":%[1]q,"code":403,"details":{"name":%[1]q,"causes":[%[2]s%[3]s]}}`,
		long, cause, strings.Repeat(`,{"reason":"x"}`, 10_000))
	cfg := answer([]byte("HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\n\r\n" + body))
	client := newTestClient(t, cfg)
	client.maxError = 2 * len(body)
	var refused *apierrors.StatusError
	if err := getAll(t.Context(), client, "/"); !errors.As(err, &refused) {
		t.Fatal(err)
	}
	var told metav1.Status
	must.OK(t, json.Unmarshal([]byte(body), &told))
	Frame{}.RedactStatus(&told)
	for what, status := range map[string]metav1.Status{"an error": refused.ErrStatus, "an event": told} {
		if n := len(fmt.Sprintf("%+v", status)); n > 6*maxStatusText+100*maxCauses || len(status.Details.Causes) != maxCauses {
			t.Errorf("%s: %d bytes, %d causes", what, n, len(status.Details.Causes))
		}
		if status.Message[:10] != long[:10] || !strings.HasSuffix(status.Message, "é…") || status.Continue != "next" {
			t.Errorf("%s: %.20q … %q, %q", what, status.Message, status.Message[len(status.Message)-10:], status.Continue)
		}
	}
	secret := Frame{exchange: &exchange{secrets: secrets{authorization: "Bearer " + jwt}}}
	for before := range 60 {
		status := metav1.Status{Message: strings.Repeat("x", maxStatusText-before) + jwt}
		secret.RedactStatus(&status)
		if part := leak(status.Message, jwt); part != "" {
			t.Errorf("%d bytes before the end: %q of the token", before, part)
		}
	}
}
