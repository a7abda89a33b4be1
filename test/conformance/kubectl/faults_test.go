package kubectl

import (
	"strings"
	"testing"
)

const (
	html = "&content-type=text/html&raw=%3Chtml%3Eproxy%3C/html%3E"

	both      = "NAME  DATA  AGE\na  1  AGE\nb  1  AGE\n"
	changedA  = "a  2  AGE\n"
	changedB  = "b  2  AGE\n"
	failed500 = "Error from server (InternalError): Internal error occurred: a fault of apitest\nexit status 1\n"
	failed503 = "Error from server (ServiceUnavailable): the server is currently unable to handle the request\nexit status 1\n"
)

// A fault is what one command prints that meets it, and what the next one prints.
type fault struct {
	fault   string
	want    string
	want2   string   // over HTTP/2, if that is something else
	times   int      // commands that print want, if not one
	answers []string // to the requests of the first command, if that is not only one
	end     string   // a fault that ends it, if it does not end by itself
	then    string   // what the same command prints afterwards
}

var faultsOfGet = []fault{
	{fault: "fail?verb=list&status=500", want: failed500, answers: []string{"GET 500"}},
	{fault: "fail?verb=list&status=503&count=3", want: failed503, times: 3, answers: []string{"GET 503"}},
	{fault: "fail?verb=list&status=503&count=2&retry-after=1s", want: both, answers: []string{"GET 503", "GET 503", "GET 200"}},
	{fault: "fail?verb=list&status=429&count=2&retry-after=1s", want: both, answers: []string{"GET 429", "GET 429", "GET 200"}},
	{fault: "fail?verb=list&status=429", want: "Error from server (TooManyRequests): Too many requests, please try again later.\nexit status 1\n"},
	{fault: "fail?for=2s&status=503&retry-after=1s", want: both},
	{fault: "fail?for=1h&status=500", want: failed500, times: 2, end: "clear"},
	{fault: "fail?for=1h&status=500&user-agent=kubectl", want: failed500, times: 2, end: "clear"},
	{fault: "fail?for=1h&status=500&user-agent=kube-rs", want: both, times: 2},
	{fault: "fail?status=200" + html, want: "serializer for text/html doesn't exist\nexit status 1\n"},
	{fault: "fail?status=503" + html, want: strings.Replace(failed503, "request\n", "request (get configmaps)\n", 1)},
	{fault: "fail?verb=list&status=410", want: "Error from server (Expired): The resourceVersion for the provided list is too old.\nexit status 1\n"},
	{fault: "fail?verb=list&status=401", want: "error: You must be logged in to the server (Unauthorized)\nexit status 1\n"},
	{fault: "fail?verb=list&status=403", want: `Error from server (Forbidden): configmaps is forbidden: User "system:anonymous" cannot list resource "configmaps" in API group "" in the namespace "default"` + "\nexit status 1\n"},
	{fault: "fail?verb=list&status=504", want: "Error from server (Timeout): Timeout: request did not complete within the allotted timeout\nexit status 1\n"},
	{fault: "cut?lists=true&after=100", want: unreadable("unexpected error", "unexpected EOF"), want2: unreadable2},
	{fault: "cut?lists=true&after=100&reset=true", want: unreadable("unexpected error", "read tcp PORT->HOST: read: connection reset by peer"), want2: unreadable2},
	{fault: "cut?lists=true&after=100&clean=true", want: "unexpected end of JSON input\nexit status 1\n"},
	{fault: "goaway", want: both},
	{fault: "compact", want: both},
}

func unreadable(what, err string) string {
	return what + " when reading response body. Please retry. Original error: " + err + "\nexit status 1\n"
}

// unreadable2 is the end of a stream of HTTP/2.
var unreadable2 = "stream error when reading response body, may be caused by closed connection. Please retry. " +
	"Original error: stream error: stream; INTERNAL_ERROR; received from peer\nexit status 1\n"

const (
	configured = "configmap/a configured\n"
	unchanged  = "configmap/a unchanged\n"
)

var faultsOfApply = []fault{
	{fault: "fail?verb=get&status=500", want: notApplied("retrieving current configuration of ... ", "Internal error occurred: a fault of apitest", " (InternalError)"), then: configured},
	{fault: "fail?verb=patch&status=500", want: notPatched("Internal error occurred: a fault of apitest", " (InternalError)"), answers: []string{"GET 200", "PATCH 500"}, then: configured},
	{fault: "fail?verb=patch&status=503", want: notPatched("the server is currently unable to handle the request", " (ServiceUnavailable)"), then: configured},
	{fault: "fail?verb=patch&status=200" + html, want: strings.Replace(notPatched("serializer for text/html doesn't exist", ""), "Error from server", "error", 1), then: configured},
	{fault: "fail?verb=patch&status=502" + html, want: notPatched(`an error on the server ("<html>proxy</html>") has prevented the request from succeeding (patch configmaps a)`, " (InternalError)"), then: configured},
	{fault: "fail?verb=patch&status=429&count=2&retry-after=1s", want: configured, answers: []string{"GET 200", "PATCH 429", "PATCH 429", "PATCH 200"}, then: unchanged},
	{fault: "fail?verb=patch&status=409", want: configured, answers: []string{"GET 200", "PATCH 409", "GET 200", "PATCH 200"}, then: unchanged},
	{fault: "goaway?requests=2", want: configured, then: unchanged},
}

func notPatched(message, reason string) string {
	return notApplied("applying patch ... ", `error when patching "STDIN": `+message, reason)
}

func notApplied(doing, message, reason string) string {
	return "Error from server" + reason + ": error when " + doing + `"STDIN": ` + message + "\nexit status 1\n"
}

const (
	deletedA = "configmap \"a\" deleted from default namespace\n"
	gone     = "Error from server (NotFound): configmaps \"a\" not found\nexit status 1\n"
)

var faultsOfDelete = []fault{
	{fault: "fail?verb=delete&status=500", want: failed500, answers: []string{"DELETE 500"}, then: deletedA},
	{fault: "fail?verb=delete&status=503&retry-after=1s", want: deletedA, answers: []string{"DELETE 503", "DELETE 200", "GET 404"}, then: gone},
	{fault: "fail?verb=delete&status=429&retry-after=1s", want: deletedA, answers: []string{"DELETE 429", "DELETE 200", "GET 404"}, then: gone},
	{fault: "fail?verb=get&status=500", want: deletedA + failed500, answers: []string{"DELETE 200", "GET 500"}, then: gone},
	{fault: "fail?verb=get&status=200" + html, want: deletedA + "error: serializer for text/html doesn't exist\nexit status 1\n", then: gone},
	{fault: "goaway?requests=2", want: deletedA, then: gone},
}

// lastApplied is the annotation that apply compares with.
const lastApplied = `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"apiVersion\":\"v1\",\"data\":{\"k\":\"1\"},\"kind\":\"ConfigMap\",\"metadata\":{\"annotations\":{},\"name\":\"a\",\"namespace\":\"default\"}}\n"}}}`

// TestFaults: kubectl meets the faults of relist serve, says what became of its command, and works again when they are over.
func TestFaults(t *testing.T) {
	for protocol, flags := range map[string][]string{"HTTP1": nil, "HTTP2": {"--tls"}} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			for _, f := range faultsOfGet {
				f.then = both
				testFault(t, flags, f, "get cm", "")
			}
			for _, f := range faultsOfApply {
				testFault(t, flags, f, "apply -f -", configMap("a", "{k: '2'}"))
			}
			for _, f := range faultsOfDelete {
				testFault(t, flags, f, "delete cm a", "")
			}
			testWatchFaults(t, flags)
			testWaitFaults(t, flags)
			testConnectionFaults(t, flags)
			testStorageFaults(t, flags)
		})
	}
}

// testFault runs a command that ends by itself.
func testFault(t *testing.T, flags []string, f fault, args, stdin string) {
	t.Run(args+": "+f.fault, func(t *testing.T) {
		t.Parallel()
		s := serve(t, flags...)
		s.kubectl(t, "", "get secrets") // and discovery
		s.patch(t, "a", lastApplied)
		s.fault(t, f.fault)
		want := f.want
		if f.want2 != "" && s.proto == "HTTP/2.0" {
			want = f.want2
		}
		for i := range max(f.times, 1) {
			if got := s.kubectl(t, stdin, args); got != want {
				t.Fatalf("prints %q, want %q", got, want)
			}
			if i == 0 && f.answers != nil {
				s.awaitAnswers(t, f.answers)
			}
		}
		if f.end != "" {
			s.fault(t, f.end)
		}
		if got := s.kubectl(t, stdin, args); got != f.then {
			t.Errorf("afterwards it prints %q, want %q", got, f.then)
		}
	})
}
