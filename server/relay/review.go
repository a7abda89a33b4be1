package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/relist-go/relist/transport"
)

// reviewTimeout bounds a question to the upstream.
const reviewTimeout = 10 * time.Second

// unknownTTL is how long a token is remembered that nobody has. It may be one of a user who is made
// just now.
const unknownTTL = 10 * time.Second

// TokenReviews returns an [Options.Authenticate] that asks the upstream whose a bearer token is. It
// remembers an answer for the time ttl. The client needs the right to create tokenreviews.
//
// https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-review-v1/
func TokenReviews(client *transport.Client, ttl time.Duration) func(*http.Request) (*User, error) {
	answers := newAnswers[*User](ttl, min(ttl, unknownTTL))
	return func(req *http.Request) (*User, error) {
		token := bearer(req)
		if !utf8.ValidString(token) || token == "" { // JSON would make another token of it
			return nil, nil
		}
		return answers.to(req.Context(), []byte(token), func(ctx context.Context) (*User, bool, error) {
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
			if err := review(ctx, client, "authentication.k8s.io", "TokenReview", spec{token}, &answer); err != nil {
				return nil, false, err
			}
			u := answer.Status.User
			if !answer.Status.Authenticated || u.Username == "" {
				return nil, false, nil
			}
			return &User{u.Username, u.UID, u.Groups, u.Extra}, true, nil
		})
	}
}

// AccessReviews returns an [Options.Authorize] that asks the upstream whether it would allow the
// same. It remembers a yes for the time allowed, and a no for the time denied. The client needs the
// right to create subjectaccessreviews.
//
// https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/subject-access-review-v1/
func AccessReviews(client *transport.Client, allowed, denied time.Duration) func(context.Context, *User, Attributes) (Decision, error) {
	answers := newAnswers[Decision](allowed, denied)
	return func(ctx context.Context, user *User, a Attributes) (Decision, error) {
		spec := reviewOf(user, a)
		question := encode(spec) // maps are sorted, so equal questions are equal bytes
		return answers.to(ctx, question, func(ctx context.Context) (Decision, bool, error) {
			var answer struct {
				Status struct {
					Allowed bool   `json:"allowed"`
					Denied  bool   `json:"denied"`
					Reason  string `json:"reason"`
				} `json:"status"`
			}
			if err := review(ctx, client, "authorization.k8s.io", "SubjectAccessReview", spec, &answer); err != nil {
				return Decision{}, false, err
			}
			d := Decision{answer.Status.Allowed && !answer.Status.Denied, answer.Status.Reason}
			return d, d.Allowed, nil
		})
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

// told returns what a reader may know of a failed request to the upstream: what the API server
// said. Other errors have its address. The relay's log has them, too, because its own requests fail
// alike.
func told(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return ": " + status.Status().Message
	}
	return ""
}
