package clientgo

import (
	"fmt"
	"strings"
)

// wireCase is a kubeconfig, or a list of them, and what lies beside it. In its texts
// {{HTTPS}} and {{HTTP}} are the URLs of the two servers, {{DIR}} is the folder of the
// first file, and so on; see wireWorld.fill.
type wireCase struct {
	name    string
	files   []string          // in the order of KUBECONFIG
	list    string            // KUBECONFIG; if empty, the files
	context string            // if empty, the current-context
	extra   map[string]string // other files, beside the first
	differs string            // the row of docs/differences.md; if empty, both do the same
}

// What is meant to differ, as docs/differences.md calls it.
const (
	cleartext      = "credentials without TLS"
	queryInURL     = "a query in the URL of a server"
	userInURL      = "a user in the URL of a server"
	spaceInToken   = "white space in a token"
	printedExpired = "an exec plugin that prints an expired credential"
)

// one is a kubeconfig with a cluster, a user and a context, and more fields of each.
func one(cluster, user, context string) []string {
	return []string{fmt.Sprintf(`
clusters: [{name: c, cluster: {server: "{{HTTPS}}", certificate-authority-data: {{CAB64}}%s}}]
users: [{name: u, user: {%s}}]
contexts: [{name: x, context: {cluster: c, user: u%s}}]
current-context: x
`, cluster, user, context)}
}

// swapped is a kubeconfig with a token, in which something stands for something else.
func swapped(old, with string) []string {
	return []string{strings.Replace(one("", "token: tok-1234567", "")[0], old, with, 1)}
}

// plain is a kubeconfig without an authority.
func plain(server, user string) []string {
	return []string{`
clusters: [{name: c, cluster: {server: "` + server + `"}}]
users: [{name: u, user: {` + user + `}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`}
}

// program is a user with the program of wireWorld.write, and more fields of it.
func program(fields string) string {
	return `exec: {command: "{{DIR}}/plug.sh", apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never` + fields + `}`
}

var wireCases = []wireCase{
	{name: "https token", files: one("", `token: "tok-1234567"`, "")},
	{name: "HTTP token", differs: cleartext, files: plain("{{HTTP}}", `token: "tok-1234567"`)},
	{name: "HTTP basic", differs: cleartext, files: plain("{{HTTP}}", `username: u, password: "secret-pw"`)},
	{name: "HTTP tokenFile", differs: cleartext, files: plain("{{HTTP}}", `tokenFile: tok`), extra: map[string]string{"tok": "filetok-1"}},
	{name: "HTTP exec", differs: cleartext, files: plain("{{HTTP}}", program(""))},
	{name: "HTTP impersonate", differs: cleartext, files: plain("{{HTTP}}", `token: "tok-1234567", as: jane`)},
	{name: "HTTP tokenFile missing", differs: cleartext, files: plain("{{HTTP}}", `tokenFile: nofile`)},
	{name: "HTTP client cert", files: plain("{{HTTP}}", `client-certificate-data: {{CERTB64}}, client-key-data: {{KEYB64}}`)},
	{name: "HTTP with CA", differs: cleartext, files: []string{`
clusters: [{name: c, cluster: {server: "{{HTTP}}", certificate-authority-data: {{CAB64}}}}]
users: [{name: u, user: {token: tok-1234567}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x`}},
	{name: "no scheme host:port", files: plain("{{HTTPHOST}}", "")},
	{name: "no scheme host:port with token", differs: cleartext, files: plain("{{HTTPHOST}}", "token: tok-1234567")},
	{name: "no scheme localhost:port", files: plain("localhost:{{HTTPPORT}}", "")},
	{name: "no scheme https by CA", files: []string{`
clusters: [{name: c, cluster: {server: "{{HTTPSHOST}}", certificate-authority-data: {{CAB64}}}}]
users: [{name: u, user: {client-certificate-data: {{CERTB64}}, client-key-data: {{KEYB64}}}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x`}},
	{name: "uppercase scheme", files: swapped("{{HTTPS}}", "HTTPS://{{HTTPSHOST}}")},
	{name: "trailing slash", files: swapped("{{HTTPS}}", "{{HTTPS}}/")},
	{name: "path prefix", files: swapped("{{HTTPS}}", "{{HTTPS}}/k8s/clusters/c-1")},
	{name: "path prefix slash", files: swapped("{{HTTPS}}", "{{HTTPS}}/k8s/")},
	{name: "path prefix and query", differs: queryInURL, files: swapped("{{HTTPS}}", "{{HTTPS}}/k8s?x=1")},
	{name: "query without path", differs: queryInURL, files: swapped("{{HTTPS}}", "{{HTTPS}}?x=1")},
	{name: "server with userinfo", differs: userInURL, files: []string{strings.Replace(one("", "", "")[0], "{{HTTPS}}", "https://a:bpassword@{{HTTPSHOST}}", 1)}},
	{name: "server trailing space", files: swapped("{{HTTPS}}", "{{HTTPS}} ")},
	{name: "token and tokenFile", files: one("", `token: inline-token, tokenFile: tok`, ""), extra: map[string]string{"tok": "file-token-1\n"}},
	{name: "token and tokenFile missing", files: one("", `token: inline-token, tokenFile: gone`, "")},
	{name: "tokenFile empty", files: one("", `tokenFile: tok`, ""), extra: map[string]string{"tok": ""}},
	{name: "token and tokenFile empty", files: one("", `token: inline-token, tokenFile: tok`, ""), extra: map[string]string{"tok": "\n"}},
	{name: "tokenFile missing", files: one("", `tokenFile: gone`, "")},
	{name: "tokenFile whitespace", files: one("", `tokenFile: tok`, ""), extra: map[string]string{"tok": "  file-token-1 \r\n"}},
	{name: "token newline", files: one("", `token: "tok-1234567\n"`, "")},
	{name: "token leading space", differs: spaceInToken, files: one("", `token: " tok-1234567"`, "")},
	{name: "token inner space", differs: spaceInToken, files: one("", `token: "tok 1234567"`, "")},
	{name: "token utf8", files: one("", `token: "tök-1234567"`, "")},
	{name: "token and basic", files: one("", `token: tok-1234567, username: a, password: bbbbbbb`, "")},
	{name: "tokenFile and basic", files: one("", `tokenFile: tok, username: a, password: bbbbbbb`, ""), extra: map[string]string{"tok": "file-token-1"}},
	{name: "basic", files: one("", `username: a, password: bbbbbbb`, "")},
	{name: "basic no password", files: one("", `username: a`, "")},
	{name: "password without user", files: one("", `password: bbbbbbb`, "")},
	{name: "cert", files: one("", `client-certificate-data: {{CERTB64}}, client-key-data: {{KEYB64}}`, "")},
	{name: "cert and token", files: one("", `token: tok-1234567, client-certificate-data: {{CERTB64}}, client-key-data: {{KEYB64}}`, "")},
	{name: "cert and basic", files: one("", `username: a, password: bbbbbbb, client-certificate-data: {{CERTB64}}, client-key-data: {{KEYB64}}`, "")},
	{name: "cert file and data", files: one("", `client-certificate: c.pem, client-certificate-data: {{CERTB64}}, client-key-data: {{KEYB64}}`, ""), extra: map[string]string{"c.pem": "x"}},
	{name: "cert file, key data", files: one("", `client-certificate: c.pem, client-key-data: {{KEYB64}}`, ""), extra: map[string]string{"c.pem": "{{CERT}}"}},
	{name: "key without cert", files: one("", `token: tok-1234567, client-key-data: {{KEYB64}}`, "")},
	{name: "cert without key", files: one("", `client-certificate-data: {{CERTB64}}`, "")},
	{name: "CA file and data", files: one(`, certificate-authority: ca.pem`, `token: tok-1234567`, ""), extra: map[string]string{"ca.pem": "{{CA}}"}},
	{name: "CA data and insecure", files: one(`, insecure-skip-tls-verify: true`, `token: tok-1234567`, "")},
	{name: "insecure alone", files: swapped("certificate-authority-data: {{CAB64}}", "insecure-skip-tls-verify: true")},
	{name: "insecure and server name", files: swapped("certificate-authority-data: {{CAB64}}", "insecure-skip-tls-verify: true, tls-server-name: other.test")},
	{name: "no CA", files: swapped("certificate-authority-data: {{CAB64}}", "")},
	{name: "CA garbage", files: swapped("{{CAB64}}", "Z2FyYmFnZQ==")},
	{name: "CA empty string", files: swapped("{{CAB64}}", `""`)},
	{name: "CA base64 folded", files: swapped("{{CAB64}}", `"{{CAB64FOLD}}"`)},
	{name: "CA url base64", files: swapped("{{CAB64}}", `"__--"`)},
	{name: "server name right", files: one(", tls-server-name: api.test", "token: tok-1234567", "")},
	{name: "server name wrong", files: one(", tls-server-name: evil.test", "token: tok-1234567", "")},
	{name: "localhost SNI", files: swapped("{{HTTPS}}", "https://localhost:{{HTTPSPORT}}")},
	{name: "disable-compression", files: one(", disable-compression: true", "token: tok-1234567", "")},
	{name: "as", files: one("", "token: tok-1234567, as: jane", "")},
	{name: "as all", files: one("", `token: tok-1234567, as: jane, as-uid: "7", as-groups: [a, b], as-user-extra: {Scopes: [view], "acme.com/x%y": ["1","2"]}`, "")},
	{name: "as groups only", files: one("", `token: tok-1234567, as-groups: [a]`, "")},
	{name: "as uid only", files: one("", `token: tok-1234567, as-uid: a`, "")},
	{name: "as extra empty", files: one("", `token: tok-1234567, as: jane, as-user-extra: {k: []}`, "")},
	{name: "as utf8", files: one("", `token: tok-1234567, as: "jäne"`, "")},
	{name: "as extra utf8 key", files: one("", `token: tok-1234567, as: jane, as-user-extra: {"kä:y": [v]}`, "")},
	{name: "as leading space", files: one("", `token: tok-1234567, as: " jane "`, "")},
	{name: "as group empty", files: one("", `token: tok-1234567, as: jane, as-groups: ["", b]`, "")},
	{name: "exec token", files: one("", program(""), "")},
	{name: "exec args env", files: one("", program(`, args: [a, b], env: [{name: TOK, value: xyzzy-1234}]`), "")},
	{name: "exec cluster info", files: one(", tls-server-name: api.test", program(`, provideClusterInfo: true`), "")},
	{name: "exec cluster info extension", files: one(`, extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: "06e3"}}]`, program(`, provideClusterInfo: true`), "")},
	{name: "exec and token", files: one("", `token: tok-1234567, `+program(""), "")},
	{name: "exec and tokenFile", files: one("", `tokenFile: tok, `+program(""), ""), extra: map[string]string{"tok": "file-token-1"}},
	{name: "exec and basic", files: one("", `username: a, password: bbbbbbb, `+program(""), "")},
	{name: "exec and cert", files: one("", `client-certificate-data: {{CERTB64}}, client-key-data: {{KEYB64}}, `+program(""), "")},
	{name: "exec and password only", files: one("", `password: bbbbbbb, `+program(""), "")},
	{name: "exec v1alpha1", files: one("", strings.Replace(program(""), "/v1,", "/v1alpha1,", 1), "")},
	{name: "exec v1beta1 wrong answer", files: one("", strings.Replace(program(""), "/v1,", "/v1beta1,", 1), "")},
	{name: "exec v1beta1 no mode", files: one("", `exec: {command: "{{DIR}}/plug.sh", apiVersion: client.authentication.k8s.io/v1beta1, env: [{name: V, value: v1beta1}]}`, "")},
	{name: "exec v1 no mode", files: one("", `exec: {command: "{{DIR}}/plug.sh", apiVersion: client.authentication.k8s.io/v1}`, "")},
	{name: "exec always", files: one("", strings.Replace(program(""), "Never", "Always", 1), "")},
	{name: "exec relative", files: one("", strings.Replace(program(""), "{{DIR}}/", "./", 1), "")},
	{name: "exec missing", files: one("", strings.Replace(program(""), "plug.sh", "nosuch", 1), "")},
	{name: "exec empty token", files: one("", program(`, env: [{name: MODE, value: empty}]`), "")},
	{name: "exec no expiry future", files: one("", program(`, env: [{name: MODE, value: future}]`), "")},
	{name: "exec expired", differs: printedExpired, files: one("", program(`, env: [{name: MODE, value: past}]`), "")},
	{name: "exec exit 1", files: one("", program(`, env: [{name: MODE, value: fail}]`), "")},
	{name: "exec token newline", files: one("", program(`, env: [{name: MODE, value: newline}]`), "")},
	{name: "exec trailing text", files: one("", program(`, env: [{name: MODE, value: trailing}]`), "")},
	{name: "exec yaml answer", files: one("", program(`, env: [{name: MODE, value: yaml}]`), "")},
	{name: "exec unknown fields", files: one("", program(`, env: [{name: MODE, value: unknown}]`), "")},
	{name: "exec cert", files: one("", program(`, env: [{name: MODE, value: cert}]`), "")},
	{name: "exec env name dup", files: one("", program(`, env: [{name: TOK, value: first-1234},{name: TOK, value: second-1234}]`), "")},
	{name: "exec env name with =", files: one("", program(`, env: [{name: "TOK=a", value: first-1234}]`), "")},
	{name: "auth-provider", files: one("", `auth-provider: {name: oidc, config: {id-token: x}}`, "")},
	{name: "auth-provider and token", files: one("", `token: tok-1234567, auth-provider: {name: oidc, config: {id-token: x, client-id: a, idp-issuer-url: "https://x"}}`, "")},
	{name: "no user", files: []string{`
clusters: [{name: c, cluster: {server: "{{HTTPS}}", certificate-authority-data: {{CAB64}}}}]
contexts: [{name: x, context: {cluster: c}}]
current-context: x`}},
	{name: "user empty, entry named empty", files: []string{`
clusters: [{name: c, cluster: {server: "{{HTTPS}}", certificate-authority-data: {{CAB64}}}}]
users: [{name: "", user: {token: tok-1234567}}]
contexts: [{name: x, context: {cluster: c, user: ""}}]
current-context: x`}},
	{name: "no cluster", files: []string{`
contexts: [{name: x, context: {user: u}}]
users: [{name: u, user: {token: tok-1234567}}]
current-context: x`}},
	{name: "namespace bad", files: one("", "token: tok-1234567", ", namespace: Bad_NS")},
	{name: "case TOKEN", files: one("", `TOKEN: tok-1234567`, "")},
	{name: "case Insecure", files: swapped("certificate-authority-data: {{CAB64}}", "Insecure-Skip-TLS-Verify: true")},
	{name: "case Server override", files: one(`, SERVER: "https://127.0.0.1:1"`, `token: tok-1234567`, "")},
	{name: "duplicate yaml key", files: []string{one("", `token: tok-1234567`, "")[0] + "\ncurrent-context: y\n"}},
	{name: "duplicate contexts", files: swapped("contexts: [", "contexts: [{name: x, context: {cluster: c}}, ")},
	{name: "duplicate users", files: swapped("users: [", "users: [{name: u, user: {token: other-token}}, ")},
	{name: "duplicate unrelated users", files: swapped("users: [", "users: [{name: z, user: {}}, {name: z, user: {}}, ")},
	{name: "insecure as string", files: swapped("certificate-authority-data: {{CAB64}}", `insecure-skip-tls-verify: "true"`)},
	{name: "token number", files: one("", `token: 12345678`, "")},
	{name: "as-uid number", files: one("", `token: tok-1234567, as: jane, as-uid: 7`, "")},
	{name: "multi doc", files: []string{one("", "token: tok-1234567", "")[0] + "\n---\ncurrent-context: zzz\n"}},
	{name: "empty file first", files: append([]string{""}, one("", "token: tok-1234567", "")...)},
	{name: "wrong kind", files: []string{"apiVersion: v1\nkind: Pod\n" + one("", "token: tok-1234567", "")[0]}},
	{name: "wrong apiVersion", files: []string{"apiVersion: v9\nkind: Config\n" + one("", "token: tok-1234567", "")[0]}},
	{name: "kind Config v1", files: []string{"apiVersion: v1\nkind: Config\npreferences: {colors: true}\n" + one("", "token: tok-1234567", "")[0]}},
	{name: "json", files: []string{`{"kind":"Config","apiVersion":"v1","clusters":[{"name":"c","cluster":{"server":"{{HTTPS}}","certificate-authority-data":"{{CAB64}}"}}],"users":[{"name":"u","user":{"token":"tok-1234567"}}],"contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}],"current-context":"x"}`}},
	{name: "second file broken", files: append(one("", "token: tok-1234567", ""), "a: [")},
	{name: "second file not ours", files: append(one("", "token: tok-1234567", ""), "- 1\n- 2\n")},
	{name: "same file twice", files: one("", "token: tok-1234567", ""), list: "{{F0}}:{{F0}}"},
	{name: "merge context in second", files: []string{`
clusters: [{name: c, cluster: {server: "{{HTTPS}}", certificate-authority-data: {{CAB64}}}}]
users: [{name: u, user: {token: first-token-1}}]
`, one("", "token: second-token-1", "")[0]}},
	{name: "merge current-context first wins", files: append(one("", "token: tok-1234567", ""), "current-context: nope\n")},
	{name: "merge current-context dangling", files: append([]string{"current-context: nope\n"}, one("", "token: tok-1234567", "")...)},
	{name: "merge user fields not mixed", files: append([]string{"users: [{name: u, user: {as: mallory}}]\n"}, one("", "token: tok-1234567", "")...)},
	{name: "merge relative path second", files: append([]string{"{}"}, one("", "tokenFile: tok", "")...), extra: map[string]string{"tok": "from-first-dir", "../d1/tok": "from-second-dir"}},
	{name: "quoted KUBECONFIG directory", files: one("", "token: tok-1234567", ""), list: "{{DIR}}:{{F0}}"},
	{name: "context override", files: swapped("contexts: [", `contexts: [{name: y, context: {cluster: c, user: u, namespace: nn}}, `), context: "y"},
	{name: "context missing", files: one("", "token: tok-1234567", ""), context: "nope"},
	{name: "no current-context", files: swapped("current-context: x", "")},
	{name: "no current-context, explicit", files: swapped("current-context: x", ""), context: "x"},
	{name: "proxy bad scheme", files: one(`, proxy-url: "ftp://p:1"`, "token: tok-1234567", "")},
	{name: "proxy no scheme", files: one(`, proxy-url: "p:1"`, "token: tok-1234567", "")},
	{name: "proxy with path", files: one(`, proxy-url: "http://127.0.0.1:1/x"`, "token: tok-1234567", "")},
}
