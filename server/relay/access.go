package relay

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/websocket"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// User is who sends a request, as kube-apiserver knows users.
type User struct {
	Name   string
	UID    string
	Groups []string
	Extra  map[string][]string
}

// Attributes say what a request would do: read objects, or the path of a discovery document.
type Attributes struct {
	Verb                     string // get, list or watch
	Group, Version, Resource string
	Namespace, Name          string // "" for all
	LabelSelector            string
	FieldSelector            string
	Path                     string // if it is not about objects
}

// Decision is the answer to whether a user may do something.
type Decision struct {
	Allowed bool
	Reason  string // why not; it may be empty
}

// allow returns the error that a reader gets whose request may not do something.
func (r *Relay) allow(ctx context.Context, user *User, a Attributes) error {
	d, err := r.opts.Authorize(ctx, user, a)
	if err != nil && ctx.Err() == nil {
		r.unknownRight.tell(&r.opts, fmt.Errorf("relay: find out what a reader may do: %w", err))
	}
	return refusal(user, a, d, err)
}

// refusal returns the error that a reader gets for an answer about a right, or for none.
func refusal(user *User, a Attributes, d Decision, err error) error {
	resource := schema.GroupResource{Group: a.Group, Resource: a.Resource}
	switch {
	case err != nil:
		return apierrors.NewServiceUnavailable("the relay cannot find out what you may do" + told(err))
	case d.Allowed:
		return nil
	case a.Path != "":
		return apierrors.NewForbidden(noResource, "", errors.New("user "+user.Name+" cannot get path "+a.Path))
	}
	text := `User "` + user.Name + `" cannot ` + a.Verb + ` resource "` + a.Resource + `" in API group "` + a.Group + `"`
	if a.Namespace != "" {
		text += ` in the namespace "` + a.Namespace + `"`
	} else {
		text += " at the cluster scope"
	}
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	return apierrors.NewForbidden(resource, a.Name, errors.New(text))
}

// AllowAll is an [Options.Authorize] for readers who may read everything that the relay has.
func AllowAll(context.Context, *User, Attributes) (Decision, error) {
	return Decision{Allowed: true}, nil
}

// FirstOf returns an [Options.Authenticate] that returns the user of the first function that knows
// one. An error of one counts only if no other knows the user.
func FirstOf(all ...func(*http.Request) (*User, error)) func(*http.Request) (*User, error) {
	return func(req *http.Request) (*User, error) {
		var failed error
		for _, authenticate := range all {
			user, err := authenticate(req)
			if user != nil {
				return user, nil
			}
			failed = errors.Join(failed, err)
		}
		return nil, failed
	}
}

// ClientCertificates is an [Options.Authenticate] for readers with a certificate: the common name
// is the user, and the organizations are the groups. The server's tls.Config has to check the
// certificate, with ClientAuth tls.VerifyClientCertIfGiven.
func ClientCertificates(req *http.Request) (*User, error) {
	if req.TLS == nil || len(req.TLS.VerifiedChains) == 0 {
		return nil, nil
	}
	chain := req.TLS.VerifiedChains[0]
	for _, cert := range chain {
		if time.Now().After(cert.NotAfter) {
			return nil, nil // it has expired since the handshake, because a connection can stay open for days
		}
	}
	subject := chain[0].Subject
	if subject.CommonName == "" {
		return nil, nil
	}
	return &User{Name: subject.CommonName, Groups: append([]string{"system:authenticated"}, subject.Organization...)}, nil
}

// tokenProtocol is what a browser, which cannot set the header of a WebSocket, sends its token
// behind, in base64url.
const tokenProtocol = "base64url.bearer.authorization.k8s.io."

// bearer returns the bearer token of a request, or "".
func bearer(req *http.Request) string {
	scheme, token, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "bearer") {
		return token
	}
	if websocket.IsWebSocketUpgrade(req) {
		for _, protocol := range websocket.Subprotocols(req) {
			if encoded, ok := strings.CutPrefix(protocol, tokenProtocol); ok {
				if token, err := base64.RawURLEncoding.DecodeString(encoded); err == nil {
					return string(token)
				}
			}
		}
	}
	return ""
}

// protocols returns the WebSocket protocols that a request offers, without the token among them.
func protocols(req *http.Request) []string {
	return slices.DeleteFunc(websocket.Subprotocols(req), func(p string) bool { return strings.HasPrefix(p, tokenProtocol) })
}
