package kubectl

import (
	"strings"
	"testing"
	"time"
)

const refused = "The connection to the server HOST was refused - did you specify the right host or port?\nexit status 1\n"

func testConnectionFaults(t *testing.T, flags []string) {
	t.Run("refuse", func(t *testing.T) {
		t.Parallel()
		s := serve(t, flags...)
		watch := s.watch(t)
		wait := s.start(t, "wait", "cm/a", "--for=jsonpath={.data.x}=2", "--timeout=60s")
		s.awaitWatch(t)
		s.refuse(t, 10*time.Second)
		if got := s.hide(watch.end(t)); strings.Contains(got, "exit status") {
			t.Errorf("get -w prints %q, want no exit status", got)
		}
		for _, args := range []string{"get cm", "delete cm a"} {
			if got := s.kubectl(t, "", args); got != refused {
				t.Errorf("%s prints %q", args, got)
			}
		}
		s.awaitPort(t)
		if got := s.kubectl(t, "", "get cm"); got != "NAME  DATA  AGE\na  1  AGE\n"+changedB {
			t.Errorf("afterwards get prints %q", got)
		}
		s.patch(t, "a", twoKeys)
		if got := s.hide(wait.end(t)); got != "configmap/a condition met\n" {
			t.Errorf("wait prints %q, and should have gone on", got)
		}
	})
	t.Run("half-open", func(t *testing.T) {
		t.Parallel()
		s := serve(t, flags...)
		s.env = []string{"HTTP2_READ_IDLE_TIMEOUT_SECONDS=1", "HTTP2_PING_TIMEOUT_SECONDS=1"} // otherwise 30 and 15
		watch := s.watch(t)
		s.fault(t, "half-open")
		s.patch(t, "a", twoKeys)
		want := ""
		if s.proto == "HTTP/2.0" {
			want = undecoded("http2: client connection lost")
		} else {
			// Nothing tells a client of HTTP/1.1. What it has printed by the time that the server is gone is all.
			if got := s.kubectl(t, "", "get cm a --no-headers"); got != changedA {
				t.Errorf("another kubectl prints %q", got)
			}
			s.refuse(t, time.Millisecond)
			s.awaitPort(t)
		}
		if got := s.hide(watch.end(t)); got != want {
			t.Errorf("prints %q, want %q", got, want)
		}
		if got := s.kubectl(t, "", "get cm a --no-headers"); got != changedA {
			t.Errorf("afterwards get prints %q", got)
		}
	})
}

// watch starts a get -w and returns when it has printed a change. Until then, the log may say that the watch has begun, and
// kubectl not have read the head of the answer.
func (s *served) watch(t *testing.T) *process {
	t.Helper()
	p := s.start(t, "get", "cm", "-w")
	s.awaitWatch(t)
	s.patch(t, "b", twoKeys)
	for range strings.Count(both+changedB, "\n") - 1 {
		p.next()
	}
	if got := p.next() + "\n"; got != changedB {
		t.Fatalf("get -w prints %q, want %q", got, changedB)
	}
	return p
}
