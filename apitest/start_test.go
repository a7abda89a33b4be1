package apitest

import (
	"errors"
	"net"
	"net/http"
	"testing"
)

// recorder is a test that keeps what it is told.
type recorder struct {
	cleanups []func()
	fatal    []any
}

func (r *recorder) Helper()           {}
func (r *recorder) Cleanup(f func())  { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Fatal(args ...any) { r.fatal = append(r.fatal, args...) }

var _ TB = testing.TB(nil)

func TestStart(t *testing.T) {
	test := &recorder{}
	server, url := Start(test, Options{})
	if _, err := server.Create("configmaps", map[string]any{"metadata": map[string]any{"namespace": "d", "name": "a"}}); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if err := try(t, client, url+"/api/v1/configmaps"); err != nil {
		t.Error(err)
	}
	for _, f := range test.cleanups {
		f()
	}
	var refused *net.OpError
	if err := try(t, client, url+"/api/v1/configmaps"); !errors.As(err, &refused) {
		t.Errorf("the server outlives the test: %v", err)
	}
	if len(test.fatal) > 0 {
		t.Error(test.fatal...)
	}
}
