package transport

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
)

// credential is what a request is authenticated with. Credentials are compared: one
// that was refused is not tried again.
type credential struct {
	authorization string           // the header; "" for none
	cert          *tls.Certificate // of a plugin; nil for none, or for that of the Config
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

// newAuthorizer chooses by what the Config has.
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

// checkToken refuses what cannot be in a header; net/http's own message would come
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
