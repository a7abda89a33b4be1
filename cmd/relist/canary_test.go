package main

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/cmd/internal/cli/clitest"
	"github.com/relist-go/relist/internal/must"
)

// canary is a secret that must not appear in any output, in any encoding.
type canary string

// The secrets of these tests. They contain characters that URLs and JSON escape.
const (
	tokenCanary    canary = "cAnArY/7f3+Xq9_zW2~kL5-tOkEn=="
	passwordCanary canary = `pAsS/cAnArY+<9x>&"Zq7-wOrD`
	userCanary     canary = "nAmE-cAnArY-2v8Rt6"
	cookieCanary   canary = "cOoKiE-cAnArY-4k1Qw3Lm8"
	keyCanary      canary = "kEyCaNaRy7Hs5Dg2Pn0Vb4Xc6Za8"
)

var canaries = []canary{tokenCanary, passwordCanary, userCanary, cookieCanary, keyCanary}

// writings are the ways to write a text that a server, a proxy or a log may use.
var writings = map[string]func(string) string{
	"plain":  func(s string) string { return s },
	"base64": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64 for URLs": func(s string) string {
		return base64.RawURLEncoding.EncodeToString([]byte(s))
	},
	"base64 of more": func(s string) string { return base64.StdEncoding.EncodeToString([]byte("Bearer " + s)) },
	"a query":        url.QueryEscape,
	"a path":         url.PathEscape,
	"hex":            func(s string) string { return hex.EncodeToString([]byte(s)) },
	"HEX":            func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
	"escapes": func(s string) string {
		var b strings.Builder
		for _, c := range []byte(s) {
			fmt.Fprintf(&b, `\u%04x`, c)
		}
		return b.String()
	},
	"a quoted text": func(s string) string { q := fmt.Sprintf("%q", s); return q[1 : len(q)-1] },
}

// in returns how the canary is written in a text, "" if it is not there. A long part of the
// canary counts, too.
func (c canary) in(text string) string {
	for name, write := range writings {
		written := write(string(c))
		part := min(len(written), 12*len(written)/len(c))
		for from := 0; from+part <= len(written); from++ {
			if strings.Contains(text, written[from:from+part]) {
				return name
			}
		}
	}
	return ""
}

// The search finds a canary in each encoding, whole and in part. Without this, the test below
// would prove nothing.
func TestCanaryIsFound(t *testing.T) {
	for name, write := range writings {
		for _, c := range canaries {
			text := write(string(c))
			if c.in("<"+text+">") == "" || c.in(text[:len(text)-len(text)/4]) == "" {
				t.Errorf("%s, %s: not found in %s", name, c, text)
			}
		}
	}
	if how := tokenCanary.in("cAnAr and no more"); how != "" {
		t.Errorf("found as %s", how)
	}
}

// secretHeaders are the headers that carry credentials.
var secretHeaders = []string{"Authorization", "Proxy-Authorization", "Cookie"}

// echo sends the credentials of a request back, in one of the writings, or in all.
func echo(req *http.Request, only string) string {
	var b strings.Builder
	for _, header := range secretHeaders {
		value := req.Header.Get(header)
		if value == "" {
			continue
		}
		secrets := []string{value}
		if _, credential, ok := strings.Cut(value, " "); ok {
			secrets = append(secrets, credential)
			if plain, err := base64.StdEncoding.DecodeString(credential); err == nil && strings.HasPrefix(value, "Basic") {
				user, password, _ := strings.Cut(string(plain), ":")
				secrets = append(secrets, string(plain), user, password)
			}
		}
		for _, secret := range secrets {
			for _, name := range slices.Sorted(maps.Keys(writings)) {
				if only != "" && name != only {
					continue
				}
				write := writings[name]
				b.WriteString(" " + strings.NewReplacer(`"`, `'`, "\\", "\\").Replace(write(secret)))
			}
		}
	}
	return b.String()
}

// hostile are answers to a list or a watch that quote what the client has sent.
var hostile = map[string]func(w http.ResponseWriter, said string){
	"Status with 500": func(w http.ResponseWriter, said string) { refuse(w, 500, said) },
	"Status with 401": func(w http.ResponseWriter, said string) { refuse(w, 401, said) },
	"Status with 403": func(w http.ResponseWriter, said string) { refuse(w, 403, said) },
	"text with 502":   func(w http.ResponseWriter, said string) { text(w, "text/plain", 502, said) },
	"text with 200":   func(w http.ResponseWriter, said string) { text(w, "text/plain", 200, said) },
	"Content-Type":    func(w http.ResponseWriter, said string) { text(w, strings.TrimSpace(said), 200, "{}") },
	"no JSON":         func(w http.ResponseWriter, said string) { text(w, "application/json", 200, said) },
	"broken JSON":     func(w http.ResponseWriter, said string) { text(w, "application/json", 200, `{"a": [}`+said) },
	"redirection": func(w http.ResponseWriter, said string) {
		w.Header().Set("Location", "/"+url.PathEscape(said)+"?"+url.QueryEscape(said))
		w.WriteHeader(302)
	},
	"ERROR event": func(w http.ResponseWriter, said string) {
		text(w, "application/json", 200, `{"type":"ERROR","object":`+statusOf(500, said)+`}`)
	},
	"event of an unknown type": func(w http.ResponseWriter, said string) {
		text(w, "application/json", 200, `{"type":"`+strings.TrimSpace(said)+`","object":{}}`)
	},
}

func text(w http.ResponseWriter, contentType string, code int, body string) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(code)
	_, _ = io.WriteString(w, body)
}

func statusOf(code int, said string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","code":%d,"message":"%s","reason":"R%[2]s","details":{"name":"%[2]s","causes":[{"message":"%[2]s"}]}}`, code, said)
}

func refuse(w http.ResponseWriter, code int, said string) {
	text(w, "application/json", code, statusOf(code, said))
}

// credentials are the users of a kubeconfig, and what else it says of the cluster.
func credentials(t *testing.T) map[string]struct{ user, cluster string } {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		must.OK(t, os.WriteFile(path, []byte(text), mode))
		return path
	}
	tokenFile := write("token", string(tokenCanary)+"\n", 0o600)
	good := write("good", `{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"`+string(tokenCanary)+`"}}`, 0o600)
	bad := write("bad", `{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"`+string(tokenCanary)+`","clientKeyData":"`+string(keyCanary)+`"`, 0o600)
	exec := `{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: cat, args: [%q]}}`
	key := base64.StdEncoding.EncodeToString([]byte("-----BEGIN PRIVATE KEY-----\n" + string(keyCanary) + "\n-----END PRIVATE KEY-----\n"))
	return map[string]struct{ user, cluster string }{
		"token":             {fmt.Sprintf("{token: %q}", string(tokenCanary)), ""},
		"token file":        {fmt.Sprintf("{tokenFile: %q}", tokenFile), ""},
		"password":          {fmt.Sprintf("{username: %q, password: %q}", string(userCanary), string(passwordCanary)), ""},
		"plugin":            {fmt.Sprintf(exec, good), ""},
		"plugin that fails": {fmt.Sprintf(exec, bad), ""},
		"broken client key": {fmt.Sprintf("{client-certificate-data: %q, client-key-data: %q}", key, key), ""},
		"proxy":             {"{}", "proxy-url: PROXY"},
		"password in a URL": {"{}", "server: URL"},
	}
}

// canaryServer serves discovery correctly, and gives hostile answers after that. The channel
// is closed after the first hostile answer.
func canaryServer(t *testing.T, only, writing string, answer func(http.ResponseWriter, string)) (addr string, quoted <-chan struct{}) {
	t.Helper()
	api, _ := newServer(t, apitest.Options{})
	createConfigMap(t, api, "a", "one")
	done := make(chan struct{})
	var once sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Set-Cookie", "session="+string(cookieCanary))
		w.Header().Set("Warning", `299 - "`+string(cookieCanary)+`"`)
		isWatch := req.URL.Query().Get("watch") != ""
		if !strings.HasSuffix(req.URL.Path, "/configmaps") || only == "watch" && !isWatch {
			req.RequestURI, req.Host = "", "localhost"
			api.ServeHTTP(w, req)
			return
		}
		answer(w, echo(req, writing))
		once.Do(func() { close(done) })
	}))
	t.Cleanup(server.Close)
	return server.URL, done
}

// No secret leaves the command: neither in its output, nor in its status, nor in a recording,
// no matter who echoes the secret in which encoding.
func TestNoSecretLeaves(t *testing.T) {
	for writing := range writings {
		t.Run("written as "+writing, func(t *testing.T) {
			t.Parallel()
			for _, how := range []string{"Status with 500", "text with 502", "ERROR event"} {
				addr, quoted := canaryServer(t, "watch", writing, hostile[how])
				out := everything(t, quoted, "mirror", "cm", "-A", "-o", "json", "--status-listen", "127.0.0.1:0", "--server", addr, "--token", string(tokenCanary))
				if found := tokenCanary.in(out); found != "" {
					t.Errorf("%s: the token comes out as %s:\n%s", how, found, out)
				}
			}
		})
	}
	for name, credential := range credentials(t) {
		for how, answer := range hostile {
			for _, only := range []string{"watch", "list"} {
				if name != "token" && how != "Status with 500" && how != "text with 502" {
					continue // one credential is enough to try all answers
				}
				t.Run(strings.Join([]string{name, how, only}, "/"), func(t *testing.T) {
					t.Parallel()
					addr, quoted := canaryServer(t, only, "", answer)
					secretURL := strings.Replace(addr, "://", "://"+string(userCanary)+":"+url.PathEscape(string(passwordCanary))+"@", 1)
					cluster := "server: " + addr
					switch {
					case strings.Contains(credential.cluster, "PROXY"): // the server is the proxy to itself
						cluster = "server: http://api.example, proxy-url: " + fmt.Sprintf("%q", secretURL)
					case strings.Contains(credential.cluster, "URL"):
						cluster = fmt.Sprintf("server: %q", secretURL)
					}
					config := filepath.Join(t.TempDir(), "config")
					if err := os.WriteFile(config, fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {%s}}]
users: [{name: u, user: %s}]
contexts: [{name: c, context: {cluster: c, user: u}}]
`, cluster, credential.user), 0o600); err != nil {
						t.Fatal(err)
					}
					file := filepath.Join(t.TempDir(), "trace.txt")
					commands := [][]string{
						{"mirror", "cm", "-A", "-o", "json", "--status-listen", "127.0.0.1:0"},
						{"mirror", "cm", "-A", "--transport", "websocket"},
						{"record", "cm", "-A", "-v", "-o", file},
						{"record", "cm", "-A", "--scrub", "-o", file},
					}
					if name != "token" {
						commands = commands[:1]
					}
					for _, args := range commands {
						out := everything(t, quoted, append(args, "--kubeconfig", config)...)
						for _, path := range []string{file, file + ".raw"} {
							if recorded, err := os.ReadFile(path); err == nil {
								out += string(recorded)
							}
						}
						for _, c := range canaries {
							if how := c.in(out); how != "" {
								t.Errorf("relist %s %s: %s comes out as %s:\n%s", args[0], args[3:], c, how, out)
							}
						}
					}
				})
			}
		}
	}
}

// everything runs the command until it has handled a hostile answer, and returns all of its
// output.
func everything(t *testing.T, quoted <-chan struct{}, args ...string) string {
	t.Helper()
	p := start(t, args...)
	ended := make(chan result, 1)
	go func() { ended <- p.wait() }()
	asked := ""
	select {
	case r := <-ended:
		return r.stdout + r.stderr
	case <-quoted:
	}
	timeout := time.After(clitest.Limit)
	for args[0] == "mirror" {
		have, changed := p.out.Now()
		if strings.Contains(have, "backoff") || strings.Contains(have, "next try") || strings.Contains(have, "waiting") {
			break
		}
		select {
		case <-changed:
			continue
		case r := <-ended:
			return r.stdout + r.stderr
		case <-timeout:
			t.Fatalf("nothing came of it:\n%s%s", have, p.errors)
		}
	}
	if strings.Contains(strings.Join(args, " "), "--status-listen") {
		for _, path := range []string{"/status", "/healthz"} {
			_, body := ask(t, p.statusURL()+path)
			asked += body
		}
	}
	p.cancel()
	r := <-ended
	return r.stdout + r.stderr + asked
}
