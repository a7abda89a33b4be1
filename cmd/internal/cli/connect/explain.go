package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/relist-go/relist/transport"
	"github.com/relist-go/relist/transport/discovery"
)

// Explain turns the error of a first request into one line that says what is wrong and
// what to do. The cause stays under it.
func Explain(err error, server string, timeout time.Duration) error {
	advice := adviceFor(err, server, timeout)
	if advice == "" {
		return err
	}
	return &explained{text: advice, err: err}
}

type explained struct {
	text string
	err  error
}

func (e *explained) Error() string { return e.text }

func (e *explained) Unwrap() error { return e.err }

// ofKubeconfig names a field of transport.Config as the kubeconfig does, and the flags, which have
// the same names.
var ofKubeconfig = strings.NewReplacer("transport config: ", "kubeconfig or flags: ", "TLS.CAFile", "certificate-authority of the context's cluster",
	"TLS.CertFile", "client-certificate of the context's user", "TLS.KeyFile", "client-key of the context's user")

func adviceFor(err error, server string, timeout time.Duration) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return adviceForStatus(err, server, int(status.Status().Code), status.Status().Message)
	}
	var (
		unknown   *discovery.NotFoundError
		dns       *net.DNSError
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
		record    tls.RecordHeaderError
		network   net.Error
	)
	_, proxy, atProxy := strings.Cut(err.Error(), "TLS with the proxy ")
	switch {
	case strings.HasPrefix(err.Error(), "transport config: TLS."):
		return ofKubeconfig.Replace(err.Error())
	case errors.As(err, &unknown) && len(unknown.Near) == 0:
		return fmt.Sprintf("%v; kubectl api-resources lists those that it has: is its CRD installed?", err)
	case atProxy: // before the cases that would be about the server
		return fmt.Sprintf("cannot reach %s: TLS with the proxy %s: check the address of the proxy, and whether it is an http:// one (HTTPS_PROXY, or proxy-url in the kubeconfig)", server, proxy)
	case errors.Is(err, transport.ErrCleartext):
		return fmt.Sprintf("%s is spoken to without TLS, so that everybody on the way could read the credential: use an https:// address, leave the credential out, or give --allow-insecure-credentials", server)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout() && !errors.As(err, &dns):
		return fmt.Sprintf("%s did not answer within %s: check the address, the network, and the proxy settings (HTTPS_PROXY, NO_PROXY)", server, timeout)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("cannot reach %s: connection refused; is the API server running, and is this its address?", server)
	case errors.As(err, &dns):
		return fmt.Sprintf("cannot reach %s: %v; is the name in --server or the kubeconfig right?", server, dns)
	case errors.As(err, &authority):
		return fmt.Sprintf("the certificate of %s is not trusted (%v): give its authority with --certificate-authority FILE, or for a test use --insecure-skip-tls-verify", server, authority)
	case errors.As(err, &hostname), errors.As(err, &invalid):
		return fmt.Sprintf("the certificate of %s is not valid: %s; check the address and the server's certificate", server, cause(err))
	case errors.As(err, &record), strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return fmt.Sprintf("%s does not speak TLS: is it an http:// address?", server)
	}
	return ""
}

func adviceForStatus(err error, server string, code int, message string) string {
	switch code {
	case http.StatusUnauthorized:
		return fmt.Sprintf("%s refuses the credential (401 %s): check --token, --token-file or the kubeconfig's user, or log in again", server, message)
	case http.StatusForbidden:
		if strings.Contains(message, "system:anonymous") {
			return fmt.Sprintf("%s was given no credential (403: %s): name a kubeconfig with --kubeconfig, or give --token-file", server, message)
		}
		return fmt.Sprintf("%s does not permit this (403): %s; ask for the verbs list and watch, or use another --context or credential", server, message)
	case http.StatusBadRequest:
		if strings.Contains(message, "HTTP request to an HTTPS server") {
			return fmt.Sprintf("%s speaks TLS: use an https:// address", server)
		}
		return fmt.Sprintf("%s refuses the request (400): %s; check the selectors", server, message)
	case http.StatusNotFound:
		return fmt.Sprintf("%s does not have what an API server has (404): %s; is this its address, with the right path?", server, cause(err))
	}
	return ""
}

// cause is the innermost error's text.
func cause(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// Hopeless reports whether a first request was refused for what was asked, and by whom:
// any 4xx but those that pass with time.
func Hopeless(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	switch code := status.Status().Code; code {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusGone, http.StatusTooManyRequests:
		return false
	default:
		return code >= 400 && code < 500
	}
}
