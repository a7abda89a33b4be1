package transport

import (
	"errors"
	"fmt"
)

// ErrCleartext is the error of a credential that would go out without TLS, where
// everybody on the way can read it; see [Config.AllowInsecureCredentials].
var ErrCleartext = errors.New("the server is spoken to without TLS, so that everybody on the way could read the credential: use https, take the credential away, or set AllowInsecureCredentials")

// keepsSecrets reports whether a credential may be sent. What it goes over is TLS, or
// does not leave this machine, or the user has said that it may.
func keepsSecrets(cfg Config, c *connector) bool {
	switch {
	case cfg.AllowInsecureCredentials, c.server.scheme == "https":
		return true
	case c.proxy != nil && cfg.RoundTripper == nil:
		return false // a proxy reads what is plain
	}
	return c.server.isLocal()
}

// checkCleartext refuses a credential that may not be sent.
func checkCleartext(cfg Config, c *connector) error {
	if keepsSecrets(cfg, c) {
		return nil
	}
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"BearerToken", cfg.BearerToken != ""},
		{"BearerTokenFile", cfg.BearerTokenFile != ""},
		{"Username", cfg.Username != ""},
		{"Password", cfg.Password != ""},
		{"Exec", cfg.Exec != nil},
	} {
		if field.set {
			return fmt.Errorf("%s is set for %s, but %w", field.name, c.server.name, ErrCleartext)
		}
	}
	return nil
}
