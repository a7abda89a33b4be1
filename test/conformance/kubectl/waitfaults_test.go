package kubectl

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// waiting are commands that list, watch, and go on whatever ends the watch. Each has what ends it well, and what it prints.
var waiting = []struct {
	args string
	done func(t *testing.T, s *served)
	want string
}{
	{"delete cm a", release, deletedA},
	{"wait cm/a --for=delete", func(t *testing.T, s *served) {
		s.request(t, http.MethodDelete, configMaps+"/a", "")
		release(t, s)
	}, "configmap/a condition met\n"},
	{"wait cm/a --for=jsonpath={.data.x}=2", func(t *testing.T, s *served) { s.patch(t, "a", twoKeys) }, "configmap/a condition met\n"},
}

// hold keeps a deleted object until release.
func hold(t *testing.T, s *served) {
	t.Helper()
	s.patch(t, "a", `{"metadata":{"finalizers":["example.com/hold"]}}`)
}

func release(t *testing.T, s *served) {
	t.Helper()
	s.patch(t, "a", `{"metadata":{"finalizers":null}}`)
}

// faultsOfWaiting are met before the watch opens, if they concern requests to come, and by the open one otherwise.
var faultsOfWaiting = []struct {
	fault   string
	watches int // that begin afterwards
}{
	{"fail?verb=watch&status=500", 1},
	{"fail?verb=watch&status=503&retry-after=1s", 1},
	{"fail?verb=watch&status=410&in-stream=true", 2},
	{"fail?verb=watch" + html + "&status=200", 2},
	{"fail?for=2s&verb=watch&status=500", 1},
	{"goaway?requests=5", 1},
	{"cut", 1},
	{"cut?reset=true", 1},
	{"end", 1},
	{"inject?raw=x", 1},
	{"compact", 0},
}

func testWaitFaults(t *testing.T, flags []string) {
	for _, command := range waiting {
		for _, f := range faultsOfWaiting {
			t.Run(command.args+": "+f.fault, func(t *testing.T) {
				t.Parallel()
				s := serve(t, flags...)
				hold(t, s)
				before := strings.HasPrefix(f.fault, "fail") || strings.HasPrefix(f.fault, "goaway")
				if before {
					s.fault(t, f.fault)
				}
				p := s.start(t, strings.Fields(command.args)...)
				if !before {
					s.awaitWatch(t)
					s.fault(t, f.fault)
				}
				for range f.watches {
					s.awaitWatch(t)
				}
				command.done(t, s)
				if got := s.hide(p.end(t)); got != command.want {
					t.Errorf("prints %q, want %q", got, command.want)
				}
			})
		}
	}
	testTimeouts(t, flags)
}

// testTimeouts has the faults that kubectl cannot notice: it waits until its --timeout.
func testTimeouts(t *testing.T, flags []string) {
	const timedOut = "error: timed out waiting for the condition on configmaps/a\nexit status 1\n"
	t.Run("delete: drop", func(t *testing.T) {
		t.Parallel()
		s := serve(t, flags...)
		hold(t, s)
		p := s.start(t, "delete", "cm", "a", "--timeout=3s")
		s.awaitWatch(t)
		s.fault(t, "drop?type=DELETED")
		release(t, s)
		if got := s.hide(p.end(t)); got != deletedA+timedOut {
			t.Errorf("prints %q", got)
		}
		if got := s.kubectl(t, "", "delete cm a"); got != gone {
			t.Errorf("afterwards it prints %q", got)
		}
	})
	t.Run("wait: swallow", func(t *testing.T) {
		t.Parallel()
		s := serve(t, flags...)
		s.fault(t, "swallow?what=initial-events-end")
		s.patch(t, "a", twoKeys)
		const args = "wait cm/a --for=jsonpath={.data.x}=2 --timeout=3s"
		if got := s.kubectl(t, "", args); got != timedOut {
			t.Errorf("prints %q", got)
		}
		s.fault(t, "clear")
		if got := s.kubectl(t, "", args); got != "configmap/a condition met\n" {
			t.Errorf("afterwards it prints %q", got)
		}
	})
	t.Run("wait: rewrite", func(t *testing.T) {
		t.Parallel()
		s := serve(t, flags...)
		p := s.start(t, "wait", "cm/a", "--for=jsonpath={.data.x}=2")
		s.awaitWatch(t)
		s.fault(t, `rewrite?name=a&patch={"data":{"x":"2"}}`)
		s.patch(t, "a", `{"data":{"x":"1"}}`)
		if got := s.hide(p.end(t)); got != "configmap/a condition met\n" {
			t.Errorf("prints %q", got)
		}
		if got := s.kubectl(t, "", "get cm a -o jsonpath={.data.x}"); got != "1" {
			t.Errorf("the object has %q, want it as it was sent", got)
		}
	})
	t.Run("wait: stall", func(t *testing.T) {
		t.Parallel()
		s := serve(t, flags...)
		p := s.start(t, "wait", "cm/a", "--for=jsonpath={.data.x}=2", "--timeout="+(3*time.Second).String())
		s.awaitWatch(t)
		s.fault(t, "stall")
		s.patch(t, "a", twoKeys)
		if got := s.hide(p.end(t)); got != timedOut {
			t.Errorf("prints %q", got)
		}
		s.fault(t, "resume")
		if got := s.kubectl(t, "", "wait cm/a --for=jsonpath={.data.x}=2"); got != "configmap/a condition met\n" {
			t.Errorf("afterwards it prints %q", got)
		}
	})
}
