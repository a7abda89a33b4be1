package apitest

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A watch is logged as it begins, and each request at its end.
func TestRequestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var entries []LoggedRequest
		f := serve(t, Options{Log: func(r LoggedRequest) {
			mu.Lock()
			defer mu.Unlock()
			entries = append(entries, r)
		}})
		next := func() LoggedRequest {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if len(entries) != 1 {
				t.Fatalf("%+v, want one entry", entries)
			}
			e := entries[0]
			entries = nil
			return e
		}
		a := f.get("/api/v1/configmaps?limit=5", "User-Agent: test")
		if e := next(); e.Method != "GET" || e.URI != "/api/v1/configmaps?limit=5" || e.Status != 200 || e.Bytes != int64(len(a.body)) || e.UserAgent != "test" || e.Began {
			t.Errorf("%+v", e)
		}
		f.get("/nonsense")
		if e := next(); e.Status != http.StatusNotFound {
			t.Errorf("%+v", e)
		}
		f.watch(configMaps + "&timeoutSeconds=60")
		if e := next(); !e.Began || e.Status != 200 {
			t.Errorf("%+v", e)
		}
		pass(time.Minute)
		if e := next(); e.Began || e.Status != 200 || e.Took != time.Minute {
			t.Errorf("%+v", e)
		}
		w := f.socket(configMaps)
		if e := next(); !e.Began || e.Status != http.StatusSwitchingProtocols {
			t.Errorf("%+v", e)
		}
		w.ws.Close()
		if e := next(); e.Began || e.Status != http.StatusSwitchingProtocols {
			t.Errorf("%+v", e)
		}
	})
}
