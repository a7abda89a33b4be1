package transport

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/relist-go/relist/internal/files"
)

// credential is what a request is authenticated with. Credentials are compared: one
// that was refused is not tried again.
type credential struct {
	authorization string           // the header; "" for none
	cert          *tls.Certificate // of a plugin; nil for none, or for that of the Config
}

func (c credential) authorize(header http.Header) {
	if c.authorization != "" {
		header.Set("Authorization", c.authorization)
	} else {
		header.Del("Authorization")
	}
}

// authorizer gives the credential of each request. It may be used by several
// goroutines at once.
type authorizer interface {
	// get returns the credential to use.
	get(ctx context.Context) (credential, error)

	// renew returns what to use instead of a credential that the server has refused
	// by 401: the same if there is nothing else.
	renew(ctx context.Context, refused credential) (credential, error)
}

func newAuthorizer(cfg Config, problems *problems, plugin *execPlugin) (authorizer, error) {
	basic := cfg.Username != "" || cfg.Password != ""
	bearer := cfg.BearerToken != "" || cfg.BearerTokenFile != ""
	switch {
	case basic && bearer:
		return nil, errors.New("both a bearer token and a user name or password are set: a request can carry one of them")
	case plugin != nil && (basic || bearer):
		return nil, errors.New("both Exec and a bearer token or a user name are set: a request can carry one of them")
	case basic && cfg.Username == "":
		return nil, errors.New("a Password is set without a Username")
	case plugin != nil:
		return plugin, nil
	case basic:
		return fixedCredential{authorization: basicAuth(cfg.Username, cfg.Password)}, nil
	case cfg.BearerTokenFile != "":
		return newTokenFile(cfg.BearerTokenFile, cfg.BearerToken, problems)
	case cfg.BearerToken != "":
		if err := checkToken(cfg.BearerToken); err != nil {
			return nil, fmt.Errorf("BearerToken: %w", err)
		}
		return fixedCredential{authorization: "Bearer " + cfg.BearerToken}, nil
	}
	return fixedCredential{}, nil
}

// fixedCredential is one that never changes, or none.
type fixedCredential credential

func (f fixedCredential) get(context.Context) (credential, error) { return credential(f), nil }

func (f fixedCredential) renew(context.Context, credential) (credential, error) {
	return credential(f), nil
}

func basicAuth(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// checkToken refuses what cannot be in a header. net/http would refuse it too, but only
// with each request.
func checkToken(token string) error {
	if token == "" {
		return errors.New("the token is empty")
	}
	for i := range len(token) {
		if c := token[i]; c <= ' ' || c == 0x7f {
			return fmt.Errorf("the token has a space or a control character at byte %d", i)
		}
	}
	return nil
}

// tokenAge is how long a token from a file is used before the file is read again. The
// kubelet replaces a projected token at 80 % of its life, ten minutes or more before it
// expires, so that 10 s are short enough.
const tokenAge = 10 * time.Second

// tokenFile is a bearer token that is kept in a file, and replaced there.
type tokenFile struct {
	path     string
	problems *problems

	mu     sync.Mutex
	token  string    // what the file held last
	readAt time.Time // when it was read, or could not be
}

// newTokenFile reads the file. If that is not possible, the token called meanwhile is
// used until it is; "" is no token.
func newTokenFile(path, meanwhile string, problems *problems) (*tokenFile, error) {
	f := &tokenFile{path: path, problems: problems}
	_, err := f.reread()
	if err == nil || meanwhile == "" {
		return f, err
	}
	if checkErr := checkToken(meanwhile); checkErr != nil {
		return nil, fmt.Errorf("%w; and BearerToken: %w", err, checkErr)
	}
	f.token, f.readAt = meanwhile, time.Now()
	problems.report("token", fmt.Errorf("%w; BearerToken is used", err))
	return f, nil
}

// get returns the token. If the file cannot be read any more, the request does not
// fail: the last token may well be good still. If it is not, the server says so, and
// renew tells why.
func (f *tokenFile) get(context.Context) (credential, error) {
	f.mu.Lock()
	token, due := f.token, time.Since(f.readAt) >= tokenAge
	if due {
		f.readAt = time.Now() // one of many requests does it
	}
	f.mu.Unlock()
	if !due {
		return bearer(token), nil
	}
	c, err := f.reread()
	if err != nil {
		f.problems.report("token", fmt.Errorf("%w; the last token stays in use", err))
		return bearer(token), nil
	}
	f.problems.report("token", nil)
	return c, nil
}

func (f *tokenFile) renew(_ context.Context, refused credential) (credential, error) {
	f.mu.Lock()
	token := f.token
	f.mu.Unlock()
	if c := bearer(token); c != refused {
		return c, nil // another request has read it meanwhile
	}
	c, err := f.reread()
	if err != nil {
		return c, fmt.Errorf("a new token cannot be read: %w", err)
	}
	return c, nil
}

func (f *tokenFile) reread() (credential, error) {
	data, err := files.ReadRegular(f.path)
	if err != nil {
		return credential{}, fmt.Errorf("BearerTokenFile: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if err := checkToken(token); err != nil {
		return credential{}, fmt.Errorf("BearerTokenFile %s: %w", f.path, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.token, f.readAt = token, time.Now()
	return bearer(token), nil
}

func bearer(token string) credential { return credential{authorization: "Bearer " + token} }

// ErrCleartext is the error of a credential that would go out without TLS, where
// everybody on the way can read it; see [Config.AllowInsecureCredentials].
var ErrCleartext = errors.New("the server is spoken to without TLS, so that everybody on the way could read the credential: use https, take the credential away, or set AllowInsecureCredentials")

// keepsSecrets reports whether a credential may be sent: over TLS, or to this machine,
// or if the user has allowed it.
func keepsSecrets(cfg Config, c *connector) bool {
	switch {
	case cfg.AllowInsecureCredentials, c.server.url.Scheme == "https":
		return true
	case c.proxy != nil && cfg.RoundTripper == nil:
		return false // a proxy reads what is plain
	}
	return c.server.isLocal()
}

// checkCleartext refuses a credential that may not be sent. It reports whether one may.
func checkCleartext(cfg Config, c *connector) (secretive bool, err error) {
	if keepsSecrets(cfg, c) {
		return true, nil
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
			return false, fmt.Errorf("%s is set for %s, but %w", field.name, c.server.name, ErrCleartext)
		}
	}
	return false, nil
}
