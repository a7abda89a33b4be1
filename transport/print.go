package transport

import (
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// However a Config is printed, it shows no secret: by fmt with any verb, by slog, or as
// JSON. It is printed for people, and cannot be read back.

// String returns the fields that are set as JSON, without what is secret.
func (c Config) String() string { return c.printable().String() }

// Format writes String, whatever the verb.
func (c Config) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// LogValue returns the fields that are set, without what is secret.
func (c Config) LogValue() slog.Value { return slog.GroupValue(c.printable()...) }

// MarshalJSON returns the fields that are set, without what is secret.
func (c Config) MarshalJSON() ([]byte, error) { return []byte(c.String()), nil }

// String returns the fields that are set as JSON, without what is secret.
func (t TLSConfig) String() string { return t.printable().String() }

// Format writes String, whatever the verb.
func (t TLSConfig) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, t.String()) }

// LogValue returns the fields that are set, without what is secret.
func (t TLSConfig) LogValue() slog.Value { return slog.GroupValue(t.printable()...) }

// MarshalJSON returns the fields that are set, without what is secret.
func (t TLSConfig) MarshalJSON() ([]byte, error) { return []byte(t.String()), nil }

// String returns the fields that are set as JSON, without what is secret.
func (e ExecConfig) String() string { return e.printable().String() }

// Format writes String, whatever the verb.
func (e ExecConfig) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, e.String()) }

// LogValue returns the fields that are set, without what is secret.
func (e ExecConfig) LogValue() slog.Value { return slog.GroupValue(e.printable()...) }

// MarshalJSON returns the fields that are set, without what is secret.
func (e ExecConfig) MarshalJSON() ([]byte, error) { return []byte(e.String()), nil }

// attrs are the fields that are printed.
type attrs []slog.Attr

func (a *attrs) text(name, value string) {
	if value != "" {
		*a = append(*a, slog.String(name, value))
	}
}

// secret says that a field is set, and not to what.
func (a *attrs) secret(name string, set bool) {
	if set {
		*a = append(*a, slog.String(name, string(redacted)))
	}
}

func (a *attrs) value(name string, set bool, value any) {
	if set {
		*a = append(*a, slog.Any(name, value))
	}
}

func (c Config) printable() attrs {
	var a attrs
	a.text("Server", withoutUser(c.Server))
	tls := c.TLS.printable()
	a.value("TLS", len(tls) > 0, slog.GroupValue(tls...))
	a.secret("BearerToken", c.BearerToken != "")
	a.text("BearerTokenFile", c.BearerTokenFile)
	a.text("Username", c.Username)
	a.secret("Password", c.Password != "")
	if c.Exec != nil {
		a.value("Exec", true, slog.GroupValue(c.Exec.printable()...))
	}
	a.value("AllowInsecureCredentials", c.AllowInsecureCredentials, true)
	a.text("ImpersonateUser", c.Impersonate.User)
	a.text("ImpersonateUID", c.Impersonate.UID)
	a.value("ImpersonateGroups", len(c.Impersonate.Groups) > 0, c.Impersonate.Groups)
	a.value("ImpersonateExtra", len(c.Impersonate.Extra) > 0, c.Impersonate.Extra)
	a.text("Namespace", c.Namespace)
	a.text("ProxyURL", withoutUser(c.ProxyURL))
	a.text("UserAgent", c.UserAgent)
	a.value("Protocol", c.Protocol != 0, c.Protocol.String())
	a.value("WatchTransport", c.WatchTransport != nil, fmt.Sprint(c.WatchTransport))
	a.value("ReadIdleTimeout", c.ReadIdleTimeout != 0, c.ReadIdleTimeout.String())
	a.value("PingTimeout", c.PingTimeout != 0, c.PingTimeout.String())
	a.value("MaxConcurrentGets", c.MaxConcurrentGets != 0, c.MaxConcurrentGets)
	a.value("MaxFrameBytes", c.MaxFrameBytes != 0, c.MaxFrameBytes)
	a.value("Compression", c.Compression != 0, c.Compression.String())
	a.value("Dial", c.Dial != nil, "func")
	a.value("RoundTripper", c.RoundTripper != nil, fmt.Sprintf("%T", c.RoundTripper))
	a.value("OnProblem", c.OnProblem != nil, "func")
	return a
}

func (t TLSConfig) printable() attrs {
	var a attrs
	a.text("CAFile", t.CAFile)
	a.value("CAData", len(t.CAData) > 0, size(t.CAData))
	a.text("CertFile", t.CertFile)
	a.value("CertData", len(t.CertData) > 0, size(t.CertData)) // a certificate and its key may be one file
	a.text("KeyFile", t.KeyFile)
	a.secret("KeyData", len(t.KeyData) > 0)
	a.text("ServerName", t.ServerName)
	a.value("Insecure", t.Insecure, true)
	return a
}

func (e ExecConfig) printable() attrs {
	var a attrs
	a.text("Command", e.Command)
	a.secret("Args", len(e.Args) > 0)
	a.secret("Env", len(e.Env) > 0)
	a.text("APIVersion", e.APIVersion)
	a.text("InstallHint", e.InstallHint)
	a.value("InteractiveMode", e.InteractiveMode != 0, e.InteractiveMode.String())
	a.value("ProvideClusterInfo", e.ProvideClusterInfo, true)
	a.secret("ClusterConfig", len(e.ClusterConfig) > 0)
	return a
}

func size(data []byte) string { return strconv.Itoa(len(data)) + " bytes" }

// withoutUser returns a URL without a user's name and password, and without a query.
// What is no URL is not printed.
func withoutUser(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return string(redacted)
	case u.User != nil:
		u.User = url.User(string(redacted))
	}
	if u.RawQuery != "" {
		u.RawQuery = string(redacted)
	}
	if u.Fragment != "" {
		u.Fragment = string(redacted)
	}
	if u.Opaque != "" {
		u.Opaque = string(redacted)
	}
	return u.String()
}

// String is a JSON object of the fields.
func (a attrs) String() string {
	text, err := json.Marshal(a.object(), json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		// unreachable: strings, numbers, and lists and maps of strings can be encoded.
		panic("transport: " + err.Error())
	}
	return string(text)
}

func (a attrs) object() map[string]any {
	object := make(map[string]any, len(a))
	for _, f := range a {
		if f.Value.Kind() == slog.KindGroup {
			object[f.Key] = attrs(f.Value.Group()).object()
		} else {
			object[f.Key] = f.Value.Any()
		}
	}
	return object
}
