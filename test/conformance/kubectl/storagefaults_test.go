package kubectl

import (
	"encoding/json"
	"net/http"
	"testing"
)

func testStorageFaults(t *testing.T, flags []string) {
	t.Run("restore", func(t *testing.T) {
		t.Parallel()
		s := serve(t, flags...)
		s.patch(t, "a", twoKeys) // from version 4 to 5; 2 is the namespace kube-system
		watch := s.start(t, "get", "cm", "-w")
		s.awaitWatch(t)
		s.fault(t, "restore?resourceVersion=4&keep-connections=true")
		if got, want := s.hide(watch.end(t)), "NAME  DATA  AGE\na  2  AGE\nb  1  AGE\n"; got != want {
			t.Errorf("get -w prints %q, want %q", got, want)
		}
		if got := s.kubectl(t, "", "get cm"); got != both {
			t.Errorf("afterwards get prints %q", got)
		}
	})
	t.Run("wait: compact, end", func(t *testing.T) {
		t.Parallel()
		s := serve(t, flags...)
		wait := s.start(t, "wait", "cm/a", "--for=jsonpath={.data.x}=2")
		s.awaitWatch(t)
		s.patch(t, "b", twoKeys) // the wait is not told of this patch
		s.fault(t, "compact")
		s.fault(t, "end")
		s.awaitWatch(t) // which begins with the objects: after a watch as short as this, client-go does not resume
		s.patch(t, "a", twoKeys)
		if got := s.hide(wait.end(t)); got != "configmap/a condition met\n" {
			t.Errorf("prints %q", got)
		}
	})
	t.Run("expire-continue", func(t *testing.T) {
		t.Parallel()
		s := serve(t, flags...)
		answer, err := s.do(t, http.MethodGet, configMaps+"?limit=1", "")
		if err != nil {
			t.Fatal(err)
		}
		var list struct{ Metadata struct{ Continue string } }
		if err := json.Unmarshal([]byte(answer), &list); err != nil {
			t.Fatal(err)
		}
		s.fault(t, "expire-continue")
		got := s.kubectl(t, "", "get --raw "+configMaps+"?limit=1&continue="+list.Metadata.Continue)
		const want = "Error from server (Expired): The provided continue parameter is too old to display a consistent list result. " +
			"You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. " +
			"Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time " +
			"the first chunk was returned and now may show up in the list.\nexit status 1\n"
		if got != want {
			t.Errorf("prints %q, want %q", got, want)
		}
		if got := s.kubectl(t, "", "get cm --chunk-size=1"); got != both {
			t.Errorf("afterwards get prints %q", got)
		}
	})
	t.Run("freeze", func(t *testing.T) {
		t.Parallel()
		s := serve(t, flags...)
		s.fault(t, "freeze?replica=b")
		s.fault(t, "route?replica=b")
		watch := s.start(t, "get", "cm", "-w", "--no-headers")
		s.awaitWatch(t)
		s.patch(t, "a", twoKeys)
		if got := s.kubectl(t, "", "get cm a --no-headers"); got != changedA { // of etcd, and not of the watch cache
			t.Errorf("another get prints %q", got)
		}
		s.fault(t, "unfreeze?replica=b")
		for _, want := range []string{"a  1  AGE", "b  1  AGE", "a  2  AGE"} {
			if got := watch.next(); got != want {
				t.Errorf("get -w prints %q, want %q", got, want)
			}
		}
	})
}
