package sinks

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
)

const path = "/api/v1/namespaces/default/configmaps"

// parse reads an object as the program does.
func parse(t *testing.T, text []byte) object {
	t.Helper()
	raw, err := listwatch.ParseRaw(text)
	must.OK(t, err)
	return object{uid: string(raw.GetUID()), version: raw.GetResourceVersion(), json: raw.Bytes()}
}

func number(t *testing.T, version string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(version, 10, 64)
	must.OK(t, err)
	return n
}

// exactly returns what the server says it had at a version, and false if it does not know that any
// more.
func exactly(t *testing.T, s *server, version string) (map[string]object, bool) {
	t.Helper()
	status, answer := s.get(path + "?resourceVersionMatch=Exact&resourceVersion=" + version)
	if status != http.StatusOK {
		return nil, false
	}
	var list struct {
		Items []struct {
			Metadata struct{ Name, UID, ResourceVersion string }
		}
	}
	must.OK(t, json.Unmarshal(answer, &list))
	state := map[string]object{}
	for _, item := range list.Items {
		state["default/"+item.Metadata.Name] = object{uid: item.Metadata.UID, version: item.Metadata.ResourceVersion}
	}
	return state, true
}

// server is apitest, in this process. Nobody else writes ConfigMaps of its namespace default.
type server struct {
	*apitest.Server

	t       *testing.T
	address string
	refused atomic.Bool
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := apitest.New(apitest.Options{Window: 300})
	listener, err := s.Listen("127.0.0.1:0")
	must.OK(t, err)
	t.Cleanup(func() { must.OK(t, s.Close()) })
	return &server{Server: s, t: t, address: listener.URL}
}

// get asks the handler, which aborts the request while the server is away.
func (s *server) get(path string) (int, []byte) {
	answer := httptest.NewRecorder()
	s.ServeHTTP(answer, httptest.NewRequestWithContext(context.WithoutCancel(s.t.Context()), http.MethodGet, "http://127.0.0.1"+path, http.NoBody))
	return answer.Code, answer.Body.Bytes()
}

func (s *server) put(name string, data map[string]any) object {
	obj := map[string]any{"metadata": map[string]any{"namespace": "default", "name": name}, "data": data}
	if _, err := s.Update("configmaps", obj); err != nil {
		_, err = s.Create("configmaps", obj)
		must.OK(s.t, err)
	}
	if !s.refused.Load() {
		_, answer := s.get(path + "/" + name)
		return parse(s.t, answer)
	}
	got, err := s.Get("configmaps", "default", name)
	must.OK(s.t, err)
	text, err := json.Marshal(got)
	must.OK(s.t, err)
	found := parse(s.t, text)
	found.inexact = true
	return found
}

// remove returns the version of the deletion.
func (s *server) remove(name string) uint64 {
	version, err := s.Delete("configmaps", "default", name)
	must.OK(s.t, err)
	return number(s.t, version)
}

func (s *server) disturb(dice int) {
	if dice%2 == 0 {
		s.EndWatches()
	} else {
		s.CutWatches(int64(dice % 400))
	}
}

func (s *server) away() {
	s.refused.Store(true)
	must.OK(s.t, s.Refuse(0))
}

func (s *server) back() {
	must.OK(s.t, s.Resume())
	s.refused.Store(false)
}
