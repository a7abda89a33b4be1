package apitest

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A test waits until its watches are open, and no longer: each watch sees what comes after that.
func TestWaitForWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		wait := func(resource string, n int, d time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			return f.WaitForWatches(ctx, resource, n)
		}
		waits := func(want string, n int) {
			t.Helper()
			err := wait("configmaps", n, time.Minute)
			if !errors.Is(err, context.DeadlineExceeded) || err.Error() != want {
				t.Errorf("the error is %v, want %s", err, want)
			}
		}
		if err := wait("configmaps", 0, 0); err != nil {
			t.Error(err)
		}
		waits("wait for 1 watch of configmaps, 0 open: context deadline exceeded", 1)
		if err := wait("configmap", 1, time.Hour); err == nil {
			t.Error("there is a resource of the name configmap")
		}

		done := make(chan error)
		go func() { done <- wait("configmaps", 2, time.Hour) }()
		const pods = "/api/v1/pods?watch=1"
		f.watch(configMaps)
		f.watch(configMaps, "X-Relist-Faults: off")
		f.watch(pods)
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("with one watch, WaitForWatches returned %v", err)
		default:
		}
		began := time.Now()
		<-time.After(time.Minute)
		w := f.watch(configMaps)
		if err := <-done; err != nil || time.Since(began) != time.Minute {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		rv := f.create("default/a")
		w.want("ADDED a@" + rv)
		if err := wait("pods", 1, 0); err != nil {
			t.Error(err)
		}

		// A watch that ends does not count, although its goroutine has not noticed yet.
		f.CutWatches(0)
		waits("wait for 1 watch of configmaps, 0 open: context deadline exceeded", 1)

		// A watch that is answered with an error event does not count.
		f.create("default/b")
		f.Compact()
		f.watch("/api/v1/configmaps?watch=1&resourceVersion=1")
		waits("wait for 1 watch of configmaps, 0 open: context deadline exceeded", 1)

		// Over HTTP, too.
		ask := func(method, query, want string, code int) {
			t.Helper()
			if a := f.do(method, faultsPath+"watches?"+query, ""); a.code != code || !strings.HasPrefix(a.body, want) {
				t.Errorf("%s: %d %s, want %s", query, a.code, a.body, want)
			}
		}
		f.watch(pods)
		ask(http.MethodGet, "resource=pods", "1 watch of pods open\n", http.StatusOK)
		ask(http.MethodGet, "resource=pods&count=2&timeout=1m", "wait for 2 watches of pods, 1 open: timeout=1m0s is over", http.StatusGatewayTimeout)
		ask(http.MethodGet, "resource=pod", `wait for watches of "pod": the server has no resource of this name`, http.StatusBadRequest)
		ask(http.MethodGet, "count=2&resources=pods", `watches has no parameter "resources": want count, resource, timeout`, http.StatusBadRequest)
		ask(http.MethodPost, "resource=pods", "watches is a question: use GET", http.StatusMethodNotAllowed)
		go func() {
			pass(time.Second)
			f.watch(pods)
		}()
		ask(http.MethodGet, "resource=pods&count=2", "2 watches of pods open\n", http.StatusOK)

		go func() { done <- wait("configmaps", 2, time.Hour) }()
		synctest.Wait()
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; err == nil || err.Error() != "wait for 2 watches of configmaps, 0 open: the server is closed" {
			t.Errorf("after Close: %v", err)
		}
	})
}
