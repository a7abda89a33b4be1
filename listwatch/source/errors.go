package source

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/object"
)

// ObjectError says that one object of a list or a watch could not be used.
type ObjectError struct {
	// Meta holds the parts of the object's metadata that could be read; any field may be
	// empty.
	Meta object.Meta

	// Err says why the object could not be used.
	Err error
}

func (e *ObjectError) Error() string {
	key := cmp.Or(e.Meta.Key, "(no readable name)")
	return fmt.Sprintf("object %s at resourceVersion %q: %v", key, e.Meta.ResourceVersion, e.Err)
}

// Unwrap returns the reason.
func (e *ObjectError) Unwrap() error { return e.Err }

// errContinueLoop is the error for a list that would never end: a page continues at
// itself, or 10 pages in a row bring no new object.
var errContinueLoop error = neverEnds{}

type neverEnds struct{}

func (neverEnds) Error() string {
	return "the list would never end, because the server's continue tokens bring nothing new; list again from the start"
}

func (neverEnds) Malformed() bool { return true }

// IsMalformed reports whether err says that an answer did not come from a working API server, or
// that it is not the answer to the request: whether an error in its chain has a method Malformed
// that returns true. A reflector takes such an answer for a failure of the server and not of the
// connection.
func IsMalformed(err error) bool {
	var m interface{ Malformed() bool }
	return errors.As(err, &m) && m.Malformed()
}

// IsUnreachable reports whether err says that no connection to the server could be made: whether an
// error in its chain has a method Unreachable that returns true, or is ECONNREFUSED. Such a request
// has cost the server nothing, so a reflector sends it again sooner than one that the server has
// taken.
func IsUnreachable(err error) bool {
	var u interface{ Unreachable() bool }
	return errors.As(err, &u) && u.Unreachable() || errors.Is(err, syscall.ECONNREFUSED)
}

// IsDenied reports whether err says that no credential could be had, or that a proxy did not accept
// it: whether an error in its chain has a method Denied that returns true. If the server has
// refused the credential, err has a Status instead.
func IsDenied(err error) bool {
	var d interface{ Denied() bool }
	return errors.As(err, &d) && d.Denied()
}

// tooLargeMessage is the message of servers before 1.19, which send no cause:
// https://github.com/kubernetes/kubernetes/pull/94316.
const tooLargeMessage = "Too large resource version"

// IsTooLarge reports whether err is the answer of a server that is behind: its watch cache has
// waited 3 s for the version of the request, and the version has not come. Source:
// https://github.com/kubernetes/kubernetes/pull/92537
func IsTooLarge(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return false
	}
	status := answer.Status()
	if status.Details != nil {
		for _, cause := range status.Details.Causes {
			if cause.Type == metav1.CauseTypeResourceVersionTooLarge || cause.Message == tooLargeMessage {
				return true
			}
		}
	}
	timeout := status.Reason == metav1.StatusReasonTimeout || status.Code == http.StatusGatewayTimeout
	return timeout && strings.Contains(status.Message, tooLargeMessage)
}
