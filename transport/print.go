package transport

import (
	"fmt"
	"io"
	"net/url"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// However a Config is printed, it shows no secret: by fmt with any verb, by slog, or as
// JSON. It is printed for people, and cannot be read back.

// Format writes the fields that are set as JSON, without what is secret, whatever the verb.
func (c Config) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.printable().encode()) }

// MarshalJSON returns the fields that are set, without what is secret.
func (c Config) MarshalJSON() ([]byte, error) { return []byte(c.printable().encode()), nil }

// Format writes the fields that are set as JSON, without what is secret, whatever the verb.
func (t TLSConfig) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, t.printable().encode()) }

// MarshalJSON returns the fields that are set, without what is secret.
func (t TLSConfig) MarshalJSON() ([]byte, error) { return []byte(t.printable().encode()), nil }

// Format writes the fields that are set as JSON, without what is secret, whatever the verb.
func (e ExecConfig) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, e.printable().encode()) }

// MarshalJSON returns the fields that are set, without what is secret.
func (e ExecConfig) MarshalJSON() ([]byte, error) { return []byte(e.printable().encode()), nil }

// printable has the fields that are printed.
type printable map[string]any

// add prints a field, unless it is not set.
func (p printable) add(name string, value any) {
	v := reflect.ValueOf(value)
	if !v.IsValid() || v.IsZero() || v.Kind() == reflect.Map && v.Len() == 0 {
		return
	}
	if v.Kind() == reflect.Pointer {
		value = v.Elem().Interface()
	}
	if named, ok := value.(fmt.Stringer); ok {
		value = named.String()
	}
	p[name] = value
}

// hide prints instead of a field that it is set.
func (p printable) hide(name string, set bool, instead string) {
	if set {
		p[name] = instead
	}
}

func (c Config) printable() printable {
	p := make(printable)
	p.add("Server", withoutUser(c.Server))
	p.add("TLS", c.TLS.printable())
	p.hide("BearerToken", c.BearerToken != "", redacted)
	p.add("BearerTokenFile", c.BearerTokenFile)
	p.add("Username", c.Username)
	p.hide("Password", c.Password != "", redacted)
	if c.Exec != nil {
		p["Exec"] = c.Exec.printable()
	}
	p.add("AllowInsecureCredentials", c.AllowInsecureCredentials)
	p.add("ImpersonateUser", c.Impersonate.User)
	p.add("ImpersonateUID", c.Impersonate.UID)
	p.add("ImpersonateGroups", c.Impersonate.Groups)
	p.add("ImpersonateExtra", c.Impersonate.Extra)
	p.add("Namespace", c.Namespace)
	p.add("ProxyURL", withoutUser(c.ProxyURL))
	p.add("UserAgent", c.UserAgent)
	p.add("Protocol", c.Protocol)
	p.hide("WatchTransport", c.WatchTransport != nil, fmt.Sprint(c.WatchTransport))
	p.add("ReadIdleTimeout", c.ReadIdleTimeout)
	p.add("PingTimeout", c.PingTimeout)
	p.add("MaxConcurrentGets", c.MaxConcurrentGets)
	p.add("MaxFrameBytes", c.MaxFrameBytes)
	p.add("Gzip", c.Gzip)
	p.hide("Dial", c.Dial != nil, "func")
	p.hide("RoundTripper", c.RoundTripper != nil, fmt.Sprintf("%T", c.RoundTripper))
	p.hide("OnProblem", c.OnProblem != nil, "func")
	return p
}

func (t TLSConfig) printable() printable {
	p := make(printable)
	p.add("CAFile", t.CAFile)
	p.hide("CAData", len(t.CAData) > 0, size(t.CAData))
	p.add("CertFile", t.CertFile)
	p.hide("CertData", len(t.CertData) > 0, size(t.CertData)) // a certificate and its key may be one file
	p.add("KeyFile", t.KeyFile)
	p.hide("KeyData", len(t.KeyData) > 0, redacted)
	p.add("ServerName", t.ServerName)
	p.add("Insecure", t.Insecure)
	return p
}

func (e ExecConfig) printable() printable {
	p := make(printable)
	p.add("Command", e.Command)
	p.hide("Args", len(e.Args) > 0, redacted)
	p.hide("Env", len(e.Env) > 0, redacted)
	p.add("APIVersion", e.APIVersion)
	p.add("InstallHint", e.InstallHint)
	p.add("Interactive", e.Interactive)
	p.add("ProvideClusterInfo", e.ProvideClusterInfo)
	p.hide("ClusterConfig", len(e.ClusterConfig) > 0, redacted)
	return p
}

func size(data []byte) string { return strconv.Itoa(len(data)) + " bytes" }

// withoutUser returns a URL without a user's name and password, and without a query.
// What is no URL is not printed.
func withoutUser(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return redacted
	case u.User != nil:
		u.User = url.User(redacted)
	}
	for _, part := range []*string{&u.RawQuery, &u.Fragment, &u.Opaque} {
		if *part != "" {
			*part = redacted
		}
	}
	return u.String()
}

func (p printable) encode() string {
	text, err := json.Marshal(map[string]any(p), json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		// unreachable: strings, numbers, and lists and maps of strings can be encoded.
		panic("transport: " + err.Error())
	}
	return string(text)
}
