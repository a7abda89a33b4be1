package apitest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Failure is the answer to requests that would have succeeded.
type Failure struct {
	// Count is the number of requests. If zero, 1, or with For any number.
	Count int
	// For is how long requests fail, if above zero.
	For time.Duration
	// Verb limits the failure to one of list, watch, get, create, update, patch, delete,
	// deletecollection, and page, which is a list with a continue token. If it is discover,
	// requests for discovery fail (below /api and /apis) and no others. These fail for no other
	// Verb, and not if Verb is empty.
	Verb string
	// Resource limits the failure to one type: "pods", "deployments.apps". With the Verb discover,
	// the discovery of that type's group and version fails. Clients that ask for all groups in one
	// answer, as kubectl does, see that version as Stale and without types, as if the server behind
	// it were down.
	Resource string
	// Namespace limits the failure to requests in one namespace. A request for all namespaces is
	// none.
	Namespace string
	// UserAgent limits the failure to requests whose User-Agent contains this text, and so to one
	// of several clients.
	UserAgent string
	// Status is the HTTP status. If zero, 500.
	Status int
	// Reason and Message replace those that kube-apiserver sends with that status.
	Reason  metav1.StatusReason
	Message string
	// RetryAfter is sent in the header and in the Status, in whole seconds, if it is above zero.
	RetryAfter time.Duration
	// InStream answers 200 and sends the failure as an ERROR event, in the encoding that was asked
	// for. It suits watches.
	InStream bool
	// Raw is sent instead of a Status, with ContentType, as a proxy between client and server might
	// do.
	Raw         []byte
	ContentType string

	until time.Time // from For
}

func (x *Failure) over(now time.Time) bool { return !x.until.IsZero() && !now.Before(x.until) }

// FailNext makes the next requests that x describes fail. Failures that were asked for earlier come
// first. It returns an error, and no request will fail, if no request can match x, for example
// because the verb is "wach".
func (s *Server) FailNext(x Failure) error {
	if err := s.checkFailure(x); err != nil {
		return fmt.Errorf("fail the next requests: %w", err)
	}
	if x.For > 0 {
		x.until = time.Now().Add(x.For)
	} else {
		x.Count = max(x.Count, 1)
	}
	x.Status = cmp.Or(x.Status, http.StatusInternalServerError)
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.failures = append(s.faults.failures, &x)
	return nil
}

// failureVerbs are what a request can be, see verb and isVerb.
var failureVerbs = []string{"list", "watch", "get", "create", "update", "patch", "delete", "deletecollection", verbPage, verbDiscover}

// verbDiscover is the verb of a request for discovery, and verbPage of a list with a continue
// token, which is a list as well.
const (
	verbDiscover = "discover"
	verbPage     = "page"
)

// isVerb reports whether a request, whose verb is v, is what a fault calls verb.
func isVerb(verb string, req *http.Request, v string) bool {
	return verb == v || verb == verbPage && v == "list" && req.URL.Query().Get("continue") != ""
}

func (s *Server) checkFailure(x Failure) error {
	of := s.storage.tables[x.Resource] // nil without a resource
	switch {
	case x.Count < 0:
		return fmt.Errorf("count %d: want 1 or more", x.Count)
	case x.Verb != "" && !slices.Contains(failureVerbs, x.Verb):
		return fmt.Errorf("verb %q: want one of %s", x.Verb, strings.Join(failureVerbs, ", "))
	case x.Namespace != "" && (x.Verb == verbDiscover || of != nil && of.res.ClusterScoped):
		return fmt.Errorf("namespace %q: no such request is in a namespace", x.Namespace)
	case x.Verb == verbDiscover && x.InStream:
		return errors.New("in-stream: discovery is no stream")
	case x.Status != 0 && (x.Status < http.StatusOK || x.Status > 599):
		return fmt.Errorf("status %d: want an HTTP status from 200 to 599", x.Status)
	case x.For < 0:
		return fmt.Errorf("for %s: want 0 or more", x.For)
	case x.RetryAfter < 0:
		return fmt.Errorf("retry after %s: want 0 or more", x.RetryAfter)
	}
	return s.checkResource(x.Resource)
}

// status is what kube-apiserver says with that code, about this request.
func (x Failure) status(t target, verb string) *metav1.Status {
	status := statusOf(x.usual(t, verb))
	status.Details = nil
	if x.RetryAfter >= time.Second {
		status.Details = &metav1.StatusDetails{RetryAfterSeconds: int32(x.RetryAfter / time.Second)}
	}
	if x.Reason != "" {
		status.Reason = x.Reason
	}
	if x.Message != "" {
		status.Message = x.Message
	}
	return status
}

// usual is the error of kube-apiserver that a code most often stands for. Where it has none of its
// own, it uses the texts of NewGenericServerResponse, which are also those that clients make up.
func (x Failure) usual(t target, verb string) error {
	switch x.Status {
	case http.StatusUnauthorized:
		return apierrors.NewUnauthorized("Unauthorized")
	case http.StatusForbidden:
		return forbidden(t, verb)
	case http.StatusConflict:
		return apierrors.NewConflict(t.table.res.GroupResource(), t.name, errModified)
	case http.StatusGone:
		if verb == "watch" {
			return apierrors.NewResourceExpired("too old resource version")
		}
		return apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
	case http.StatusTooManyRequests:
		return apierrors.NewTooManyRequests("Too many requests, please try again later.", 0)
	case http.StatusInternalServerError:
		return apierrors.NewInternalError(errors.New("a fault of apitest"))
	case http.StatusGatewayTimeout:
		return apierrors.NewTimeoutError("request did not complete within the allotted timeout", 0)
	}
	return apierrors.NewGenericServerResponse(x.Status, "", metaGroupResource, "", "", 0, false)
}

// forbidden is the error for a user without rights, in the words of kube-apiserver's authorizer.
func forbidden(t target, verb string) error {
	res := t.table.res
	if verb == verbDiscover {
		//nolint:staticcheck // kube-apiserver's words, its capital too
		return apierrors.NewForbidden(res.GroupResource(), "", fmt.Errorf("User %q cannot get path %q", "system:anonymous", t.name))
	}
	where := "at the cluster scope"
	if t.namespace != "" {
		where = fmt.Sprintf("in the namespace %q", t.namespace)
	}
	resource := res.Plural
	if t.subresource != "" {
		resource += "/" + t.subresource
	}
	//nolint:staticcheck // kube-apiserver's words, its capital too
	return apierrors.NewForbidden(res.GroupResource(), t.name,
		fmt.Errorf("User %q cannot %s resource %q in API group %q %s", "system:anonymous", verb, resource, res.Group, where))
}

func (s *Server) fail(w http.ResponseWriter, req *http.Request, t target, verb string, x Failure) {
	switch {
	case x.InStream:
		s.failInStream(w, req, t.table, verb, x.status(t, verb))
	case x.Raw != nil:
		writeBytes(w, x.Status, x.ContentType, x.Raw)
	default:
		writeError(w, &apierrors.StatusError{ErrStatus: *x.status(t, verb)})
	}
}

// failDiscovery answers a request for discovery with the failure that a test has asked for, and
// returns true. If no test has asked for one, it returns false.
func (s *Server) failDiscovery(w http.ResponseWriter, req *http.Request) bool {
	path := strings.TrimSuffix(req.URL.Path, "/")
	var of []string // the types whose group this path is about; none for those about all groups
	switch {
	case req.Method != http.MethodGet:
		return false
	case path == "/api" || path == "/apis":
	default:
		for id, t := range s.storage.tables { // the order does not matter
			if root := t.res.root(); root == path || t.res.Group != "" && "/apis/"+t.res.Group == path {
				of = append(of, id)
			}
		}
		if of == nil {
			return false
		}
	}
	x, ok := s.faults.take(req, verbDiscover, "", of...)
	if ok {
		s.fail(w, req, target{table: &table{res: &Resource{}}, name: path}, verbDiscover, x)
	}
	return ok
}

// failInStream sends an ERROR event in the encoding that the stream would have had.
func (s *Server) failInStream(w http.ResponseWriter, req *http.Request, t *table, verb string, status *metav1.Status) {
	f, err := s.negotiate(req, t, verb)
	if err != nil {
		f = newJSONFormat(t) // a client that accepts no format gets the failure, too
	}
	contentType, event := f.contentType(true), f.status(nil, status)
	if !isWebSocket(req) {
		writeBytes(w, http.StatusOK, contentType, event)
		return
	}
	s.faults.upgrade(w, req, newMessages(contentType), func(_ context.Context, out output) {
		_ = out.write(event) // to a client that may be gone
	})
}
