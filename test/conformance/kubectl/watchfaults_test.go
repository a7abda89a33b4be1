package kubectl

import (
	"strings"
	"testing"
)

// faultsOfOpening are met by the watch of get -w, after its list.
var faultsOfOpening = []fault{
	{fault: "fail?verb=watch&status=500", want: both + failed500},
	{fault: "fail?verb=watch&status=503&count=2&retry-after=1s", end: "end", want: both + changedA + changedB},
	{fault: "fail?verb=watch&status=410", want: both + "Error from server (Expired): too old resource version\nexit status 1\n"},
	{fault: "fail?verb=watch&status=410&in-stream=true", want: both + statusRow("Expired", "too old resource version")},
	{fault: "fail?verb=watch&status=200" + html, want: both + "error: no stream serializers registered for text/html\nexit status 1\n"},
	{fault: "fail?verb=watch&status=503" + html, want: both + strings.Replace(failed503, "request\n", "request (get configmaps)\n", 1)},
	{fault: "cut?next=1", want: both, want2: both + resetRow},
	{fault: "cut?next=1&reset=true", want: both, want2: both + resetRow},
	{fault: "cut?next=1&clean=true", want: both},
	{fault: "goaway?requests=2", end: "end", want: both + changedA + changedB},
}

// faultsOfOpen are met by an open watch, before a and b are changed. kubectl exits with 0 whatever ends a watch.
var faultsOfOpen = []fault{
	{fault: "cut", want: both, want2: both + resetRow},
	{fault: "cut?after=100", want: both, want2: both + resetRow},
	{fault: "cut?after=100&reset=true", want: both, want2: both + resetRow},
	{fault: "cut?after=100&clean=true", want: both},
	{fault: "end", want: both},
	{fault: "inject?raw=x", want: both + undecoded("invalid character 'x' looking for beginning of value")},
	{fault: "inject?raw=%7B%22type%22", want: both + undecoded("invalid character '{' after object key")},
	{fault: `rewrite?name=a&patch={"data":null}`, end: "end", want: both + "a  0  AGE\n" + changedB},
	{fault: `rewrite?type=MODIFIED&patch={"metadata":{"name":"other"}}`, end: "end", want: both + "other  2  AGE\n" + changedB},
	{fault: "drop?type=MODIFIED", end: "end", want: both + changedB},
	{fault: "stall", end: "end", want: both},
	{fault: "stall", end: "resume", want: both + changedA + changedB},
	{fault: "compact", end: "end", want: both + changedA + changedB},
	{fault: "goaway", end: "end", want: both + changedA + changedB},
}

// statusRow is a Status that was sent as an ERROR event: kubectl prints it as a row, as it prints objects.
func statusRow(reason, message string) string {
	return "STATUS  REASON  MESSAGE\nFailure  " + reason + "  " + message + "\n"
}

func undecoded(err string) string {
	return statusRow("InternalError", `an error on the server ("unable to decode an event from the watch stream: `+err+`") has prevented the request from succeeding`)
}

var resetRow = undecoded("stream error: stream; INTERNAL_ERROR; received from peer")

func testWatchFaults(t *testing.T, flags []string) {
	for _, f := range faultsOfOpening {
		t.Run("get -w, opening: "+f.fault, func(t *testing.T) {
			t.Parallel()
			s := serve(t, flags...)
			s.kubectl(t, "", "get secrets")
			s.fault(t, f.fault)
			testWatchFault(t, s, s.start(t, "get", "cm", "-w"), f)
		})
	}
	for _, f := range faultsOfOpen {
		t.Run("get -w: "+f.fault+" "+f.end, func(t *testing.T) {
			t.Parallel()
			s := serve(t, flags...)
			p := s.start(t, "get", "cm", "-w")
			s.awaitWatch(t)
			s.fault(t, f.fault)
			if f.end == "" && f.fault != "end" { // the changes are for what cuts inside an event; a watch that ends may still send one
				s.patch(t, "a", twoKeys)
			}
			testWatchFault(t, s, p, f)
		})
	}
	t.Run("get -w: bookmarks", func(t *testing.T) {
		t.Parallel()
		s := serve(t, flags...)
		p := s.start(t, "get", "--raw", configMaps+"?watch=1&resourceVersion=4&allowWatchBookmarks=true")
		s.awaitWatch(t)
		s.patch(t, "a", twoKeys)
		for _, want := range []string{`{"type":"MODIFIED",`, `{"type":"BOOKMARK",`} {
			if got := p.next(); !strings.HasPrefix(got, want) {
				t.Errorf("the next event is %s, want %s", got, want)
			}
			s.fault(t, "bookmarks?period=100ms")
		}
	})
}

// twoKeys is a patch.
const twoKeys = `{"data":{"x":"2"}}`

// testWatchFault ends a get -w that has met a fault, or waits for its end. Another one sees the next change.
func testWatchFault(t *testing.T, s *served, p *process, f fault) {
	t.Helper()
	want := f.want
	if f.want2 != "" && s.proto == "HTTP/2.0" {
		want = f.want2
	}
	var got strings.Builder
	if f.end != "" {
		if strings.Contains(f.fault, "verb=watch") || strings.HasPrefix(f.fault, "goaway?") {
			s.awaitWatch(t)
		}
		s.patch(t, "a", twoKeys)
		s.patch(t, "b", twoKeys)
		if f.end == "resume" {
			s.fault(t, "resume")
		}
		for range strings.Count(want, "\n") { // a watch may end without the changes that wait, so kubectl prints them first
			got.WriteString(p.next() + "\n")
		}
		s.fault(t, "end")
	}
	got.WriteString(s.hide(p.end(t)))
	if got.String() != want {
		t.Errorf("prints %q, want %q", got.String(), want)
	}
	s.fault(t, "resume")
	again := s.start(t, "get", "cm", "-w", "--watch-only", "--selector=!other")
	s.awaitWatchWith(t, "labelSelector=")
	s.patch(t, "b", `{"data":{"x":"3","y":"3"}}`)
	if heading, line := again.next(), again.next(); heading != "NAME  DATA  AGE" || line != "b  3  AGE" {
		t.Errorf("afterwards it prints %q and %q", heading, line)
	}
}
