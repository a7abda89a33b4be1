package relay

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/relist-go/relist/transport"
)

// reviewTimeout bounds a question to the upstream.
const reviewTimeout = 10 * time.Second

// unknownTTL is how long a token is remembered that nobody has. It may be one of a user who is made just now.
const unknownTTL = 10 * time.Second

// TokenReviews returns an [Options.Authenticate] that asks the upstream whose a bearer token is. It remembers an answer for the time ttl. The
// client needs the right to create tokenreviews.
//
// https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-review-v1/
func TokenReviews(client *transport.Client, ttl time.Duration) func(*http.Request) (*User, error) {
	// Tokens that nobody has are remembered apart: whoever sends many of them does not make the relay forget the others.
	known, unknown := newExpiring[*User](), newExpiring[*User]()
	return func(req *http.Request) (*User, error) {
		token := bearer(req)
		if !utf8.ValidString(token) || token == "" { // JSON would make another token of it
			return nil, nil
		}
		key := []byte(token)
		if user, ok := known.get(key); ok {
			return user, nil
		}
		if _, ok := unknown.get(key); ok {
			return nil, nil
		}
		type spec struct {
			Token string `json:"token"`
		}
		var answer struct {
			Status struct {
				Authenticated bool   `json:"authenticated"`
				Error         string `json:"error"`
				User          struct {
					Username string              `json:"username"`
					UID      string              `json:"uid"`
					Groups   []string            `json:"groups"`
					Extra    map[string][]string `json:"extra"`
				} `json:"user"`
			} `json:"status"`
		}
		if err := review(req.Context(), client, "authentication.k8s.io", "TokenReview", spec{token}, &answer); err != nil {
			return nil, err
		}
		u := answer.Status.User
		if !answer.Status.Authenticated || u.Username == "" {
			unknown.set(key, nil, min(ttl, unknownTTL))
			return nil, nil
		}
		user := &User{u.Username, u.UID, u.Groups, u.Extra}
		known.set(key, user, ttl)
		return user, nil
	}
}

// AccessReviews returns an [Options.Authorize] that asks the upstream whether it would allow the same. It remembers a yes for the time allowed,
// and a no for the time denied. The client needs the right to create subjectaccessreviews.
//
// https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/subject-access-review-v1/
func AccessReviews(client *transport.Client, allowed, denied time.Duration) func(context.Context, *User, Attributes) (Decision, error) {
	known := newExpiring[Decision]()
	return func(ctx context.Context, user *User, a Attributes) (Decision, error) {
		spec := reviewOf(user, a)
		key := encode(spec) // maps are sorted, so equal questions have equal keys
		if d, ok := known.get(key); ok {
			return d, nil
		}
		var answer struct {
			Status struct {
				Allowed bool   `json:"allowed"`
				Denied  bool   `json:"denied"`
				Reason  string `json:"reason"`
			} `json:"status"`
		}
		if err := review(ctx, client, "authorization.k8s.io", "SubjectAccessReview", spec, &answer); err != nil {
			return Decision{}, err
		}
		d := Decision{answer.Status.Allowed && !answer.Status.Denied, answer.Status.Reason}
		if d.Allowed {
			known.set(key, d, allowed)
		} else {
			known.set(key, d, denied)
		}
		return d, nil
	}
}

type accessSpec struct {
	Resource *resourceAttributes `json:"resourceAttributes,omitempty"`
	Path     *pathAttributes     `json:"nonResourceAttributes,omitempty"`
	User     string              `json:"user"`
	Groups   []string            `json:"groups,omitempty"`
	UID      string              `json:"uid,omitempty"`
	Extra    map[string][]string `json:"extra,omitempty"`
}

type resourceAttributes struct {
	Namespace     string       `json:"namespace,omitempty"`
	Verb          string       `json:"verb"`
	Group         string       `json:"group,omitempty"`
	Version       string       `json:"version"`
	Resource      string       `json:"resource"`
	Name          string       `json:"name,omitempty"`
	FieldSelector *rawSelector `json:"fieldSelector,omitempty"`
	LabelSelector *rawSelector `json:"labelSelector,omitempty"`
}

type rawSelector struct {
	Raw string `json:"rawSelector"`
}

type pathAttributes struct {
	Path string `json:"path"`
	Verb string `json:"verb"`
}

func reviewOf(user *User, a Attributes) accessSpec {
	s := accessSpec{User: user.Name, Groups: user.Groups, UID: user.UID, Extra: user.Extra}
	if a.Path != "" {
		s.Path = &pathAttributes{a.Path, a.Verb}
		return s
	}
	s.Resource = &resourceAttributes{
		Namespace: a.Namespace, Verb: a.Verb, Group: a.Group, Version: a.Version, Resource: a.Resource, Name: a.Name,
	}
	if a.FieldSelector != "" {
		s.Resource.FieldSelector = &rawSelector{a.FieldSelector}
	}
	if a.LabelSelector != "" {
		s.Resource.LabelSelector = &rawSelector{a.LabelSelector}
	}
	return s
}

// review creates a review, whose answer is its status.
func review(ctx context.Context, client *transport.Client, group, kind string, spec, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	body := encode(map[string]any{"apiVersion": group + "/v1", "kind": kind, "spec": spec})
	req := transport.Request{
		Path:   transport.EscapePath("apis", group, "v1", strings.ToLower(kind)+"s"),
		Header: http.Header{"Content-Type": {"application/json"}},
	}
	resp, err := client.Do(ctx, http.MethodPost, req, body)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err == nil {
		err = json.Unmarshal(data, answer)
	}
	if err != nil {
		return fmt.Errorf("relay: read the answer to a %s: %w", kind, err)
	}
	return nil
}

// unreachable returns the error that a reader gets if the upstream does not answer.
func unreachable(err error) error {
	return apierrors.NewServiceUnavailable("the relay cannot reach the API server" + told(err))
}

// told returns what a reader may know of a failed request to the upstream: what the API server said.
// Other errors have its address. The relay's log has them, too, because its own requests fail alike.
func told(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return ": " + status.Status().Message
	}
	return ""
}

// expiring remembers answers for a time. It holds a bounded number: when it is full, it forgets what has expired, or else any tenth of the
// rest. Of a question it keeps a digest, because a reader can send long ones, and because a token is a secret.
type expiring[V any] struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]expiry[V]
}

type expiry[V any] struct {
	value V
	until time.Time
}

// maxRemembered is enough for some 10,000 readers of several resources, each with an identity of its own. An answer takes about 150 bytes.
const maxRemembered = 100_000

func newExpiring[V any]() *expiring[V] {
	return &expiring[V]{all: make(map[[sha256.Size]byte]expiry[V])}
}

func (e *expiring[V]) get(question []byte) (value V, ok bool) {
	key := sha256.Sum256(question)
	e.mu.Lock()
	defer e.mu.Unlock()
	x, ok := e.all[key]
	if !ok || !time.Now().Before(x.until) {
		return value, false
	}
	return x.value, true
}

func (e *expiring[V]) set(question []byte, value V, ttl time.Duration) {
	key := sha256.Sum256(question)
	e.mu.Lock()
	defer e.mu.Unlock()
	if now := time.Now(); len(e.all) >= maxRemembered {
		for k, x := range e.all { // what has expired goes: the order does not matter
			if !now.Before(x.until) {
				delete(e.all, k)
			}
		}
		for k := range e.all { // a map is ranged over from anywhere
			if len(e.all) <= maxRemembered*9/10 {
				break
			}
			delete(e.all, k)
		}
	}
	e.all[key] = expiry[V]{value, time.Now().Add(ttl)}
}
