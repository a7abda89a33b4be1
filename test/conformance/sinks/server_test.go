package sinks

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/test/conformance/cluster"
)

// server is the API server of a test. Nobody else writes ConfigMaps of its namespace default.
type server interface {
	args() []string // of the program
	do(method, path, body string) (status int, answer []byte)
	put(name string, data map[string]any) object
	remove(name string) (first, last uint64) // the version of the deletion is in between
	version() uint64
	compact()
	disturb(dice int) // the watches
	away()
	writesAway() bool      // objects can be changed while the server is away
	save() (backup string) // a backup of now
	restore(backup string) // while the server is away
	back()
}

const path = "/api/v1/namespaces/default/configmaps"

func encode(t *testing.T, name string, data map[string]any) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"kind": "ConfigMap", "apiVersion": "v1", "metadata": map[string]any{"namespace": "default", "name": name}, "data": data,
	})
	must(t, err)
	return string(text)
}

// parse reads an object as the program does.
func parse(t *testing.T, text []byte) object {
	t.Helper()
	raw, err := listwatch.ParseRaw(text)
	must(t, err)
	return object{uid: string(raw.GetUID()), version: raw.GetResourceVersion(), json: raw.Bytes()}
}

func number(t *testing.T, version string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(version, 10, 64)
	must(t, err)
	return n
}

// exactly returns what the server says it had at a version, and false if it does not know that any
// more.
func exactly(t *testing.T, s server, version string) (map[string]object, bool) {
	t.Helper()
	status, answer := s.do(http.MethodGet, path+"?resourceVersionMatch=Exact&resourceVersion="+version, "")
	if status != http.StatusOK {
		return nil, false
	}
	var list struct {
		Items []struct {
			Metadata struct{ Name, UID, ResourceVersion string }
		}
	}
	must(t, json.Unmarshal(answer, &list))
	state := map[string]object{}
	for _, item := range list.Items {
		state["default/"+item.Metadata.Name] = object{uid: item.Metadata.UID, version: item.Metadata.ResourceVersion}
	}
	return state, true
}

// ours is apitest, in this process.
type ours struct {
	t       *testing.T
	s       *apitest.Server
	address string
	refused atomic.Bool
}

func newOurs(t *testing.T) *ours {
	t.Helper()
	s := apitest.New(apitest.Options{Window: 300})
	listener, err := s.Listen("127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return &ours{t: t, s: s, address: listener.URL}
}

func (o *ours) args() []string { return []string{"-server", o.address} }

// do sends a request to the handler, which aborts it while the server is away.
func (o *ours) do(method, path, body string) (int, []byte) {
	answer := httptest.NewRecorder()
	o.s.ServeHTTP(answer, httptest.NewRequestWithContext(context.WithoutCancel(o.t.Context()), method, "http://127.0.0.1"+path, strings.NewReader(body)))
	return answer.Code, answer.Body.Bytes()
}

func (o *ours) put(name string, data map[string]any) object {
	obj := map[string]any{"metadata": map[string]any{"namespace": "default", "name": name}, "data": data}
	if _, err := o.s.Update("configmaps", obj); err != nil {
		_, err = o.s.Create("configmaps", obj)
		must(o.t, err)
	}
	if !o.refused.Load() {
		_, answer := o.do(http.MethodGet, path+"/"+name, "")
		return parse(o.t, answer)
	}
	got, err := o.s.Get("configmaps", "default", name)
	must(o.t, err)
	text, err := json.Marshal(got)
	must(o.t, err)
	found := parse(o.t, text)
	found.inexact = true
	return found
}

func (o *ours) remove(name string) (first, last uint64) {
	version, err := o.s.Delete("configmaps", "default", name)
	must(o.t, err)
	n := number(o.t, version)
	return n, n
}

func (o *ours) version() uint64 { return number(o.t, o.s.ResourceVersion()) }
func (o *ours) compact()        { o.s.Compact() }

func (o *ours) disturb(dice int) {
	if dice%2 == 0 {
		o.s.EndWatches()
	} else {
		o.s.CutWatches(int64(dice % 400))
	}
}

func (o *ours) away() {
	o.refused.Store(true)
	must(o.t, o.s.Refuse(0))
}

func (o *ours) writesAway() bool { return true }
func (o *ours) save() string     { return o.s.ResourceVersion() }
func (o *ours) restore(backup string) {
	must(o.t, o.s.Restore(apitest.Restore{ResourceVersion: backup}))
}

func (o *ours) back() {
	must(o.t, o.s.Resume())
	o.refused.Store(false)
}

// theirs is a kube-apiserver with etcd.
type theirs struct {
	t      *testing.T
	c      *cluster.Cluster
	client *http.Client
}

func newTheirs(t *testing.T) *theirs {
	t.Helper()
	c := cluster.New(t, cluster.Options{})
	client, err := c.Access().HTTPClient()
	must(t, err)
	return &theirs{t, c, client}
}

// of returns the same server for a subtest.
func (s *theirs) of(t *testing.T) *theirs { return &theirs{t, s.c, s.client} }

func (s *theirs) args() []string {
	a := s.c.Access()
	return []string{"-server", a.URL, "-token", a.AdminToken, "-ca", a.CAFile}
}

func (s *theirs) do(method, path, body string) (int, []byte) {
	a := s.c.Access()
	req, err := http.NewRequestWithContext(s.t.Context(), method, a.URL+path, strings.NewReader(body))
	must(s.t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+a.AdminToken)
	answer, err := s.client.Do(req)
	must(s.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	must(s.t, err)
	return answer.StatusCode, text
}

func (s *theirs) put(name string, data map[string]any) object {
	status, answer := s.do(http.MethodPut, path+"/"+name, encode(s.t, name, data))
	if status == http.StatusNotFound {
		status, answer = s.do(http.MethodPost, path, encode(s.t, name, data))
	}
	if status != http.StatusOK && status != http.StatusCreated {
		s.t.Fatalf("put %s: %d %s", name, status, answer)
	}
	return parse(s.t, answer)
}

// remove looks where the server is before and after, because it does not tell the version of a
// deletion.
func (s *theirs) remove(name string) (first, last uint64) {
	before := s.version()
	if status, answer := s.do(http.MethodDelete, path+"/"+name, ""); status != http.StatusOK {
		s.t.Fatalf("delete %s: %d %s", name, status, answer)
	}
	return before + 1, s.version()
}

func (s *theirs) version() uint64 {
	_, answer := s.do(http.MethodGet, path+"?limit=1", "")
	var list struct {
		Metadata struct{ ResourceVersion string }
	}
	must(s.t, json.Unmarshal(answer, &list))
	return number(s.t, list.Metadata.ResourceVersion)
}

// compact starts the API server again, too: its cache has the events that etcd has forgotten.
func (s *theirs) compact() {
	must(s.t, s.c.Compact(s.t.Context()))
	must(s.t, s.c.KillAPIServer())
	must(s.t, s.c.StartAPIServer(s.t.Context()))
	s.client.CloseIdleConnections()
}

func (s *theirs) disturb(int) {}

func (s *theirs) away() {
	must(s.t, s.c.KillAPIServer())
	must(s.t, s.c.StopEtcd())
}

func (s *theirs) writesAway() bool { return false }

func (s *theirs) save() string {
	backup := filepath.Join(s.t.TempDir(), "backup")
	s.away()
	must(s.t, s.c.SaveEtcd(backup))
	s.back()
	return backup
}

func (s *theirs) restore(backup string) { must(s.t, s.c.RestoreEtcd(backup)) }

func (s *theirs) back() {
	must(s.t, s.c.StartEtcd(s.t.Context()))
	must(s.t, s.c.StartAPIServer(s.t.Context()))
	s.client.CloseIdleConnections()
}
