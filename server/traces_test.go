// Package server_test plays the golden traces of the server's half, in testdata, to apitest, and to
// a relay in front of it.
package server_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/internal/memnet"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/internal/servertrace"
	"github.com/relist-go/relist/internal/tracepage"
	"github.com/relist-go/relist/server/relay"
	"github.com/relist-go/relist/server/watchcache"
	"github.com/relist-go/relist/transport"
	"github.com/relist-go/relist/transport/discovery"
)

var update = flag.Bool("update", false, "rewrite the lines of runs in traces")

// A relay answers these traces otherwise than the server behind it. Each has the row of
// server/relay/README.md that says why.
var relayDiffers = map[string]string{
	"bookmark-before-end": "versions without a change",
	"idle-progress":       "versions without a change",
	"token-expired":       "compaction",
}

// TestTrace plays each file to the first server that it names, in virtual time, and compares every
// byte.
func TestTrace(t *testing.T) {
	each(t, "", func(t *testing.T, name string, src []byte, f *servertrace.File) {
		for _, server := range f.Servers {
			if !slices.Contains([]string{"apitest", "relay", "kube-apiserver"}, server) {
				t.Errorf("there is no server %s", server)
			}
		}
		text := strings.Join(playInMemory(t, f, f.Servers[0]), "\n") + "\n"
		if *update {
			must.OK(t, os.WriteFile(name, []byte(text), 0o666))
			return
		}
		if diff := cmp.Diff(strings.Split(string(src), "\n"), strings.Split(text, "\n")); diff != "" {
			t.Errorf("(-file +run):\n%s", diff)
		}
	})
}

// TestRelayAnswersAlike plays to a relay what names it.
func TestRelayAnswersAlike(t *testing.T) {
	page, err := os.ReadFile("relay/README.md")
	must.OK(t, err)
	each(t, "relay", func(t *testing.T, name string, _ []byte, f *servertrace.File) {
		row, known := relayDiffers[strings.TrimSuffix(filepath.Base(name), ".txt")]
		diff := f.Diff(playInMemory(t, f, "relay"), 0)
		if (diff != "") != known {
			t.Errorf("want a difference: %v (-file +relay):\n%s", known, diff)
		}
		if known && !strings.Contains(string(page), "| "+row+" |") {
			t.Errorf("server/relay/README.md has no row for the difference %q", row)
		}
	})
}

// Some traces have a picture. TestPictures draws it, and wants it on the page, which leads to every
// trace. A picture without a trace is an error.
func TestPictures(t *testing.T) {
	page, err := os.ReadFile("README.md")
	must.OK(t, err)
	pictures, _ := filepath.Glob("pictures/*.svg") // the pattern is right
	for _, picture := range pictures {
		if _, err := os.Stat("testdata/" + strings.TrimSuffix(filepath.Base(picture), ".svg") + ".txt"); err != nil {
			t.Errorf("%s has no trace: %v", picture, err)
		}
	}
	each(t, "", func(t *testing.T, name string, src []byte, _ *servertrace.File) {
		if !bytes.Contains(page, []byte("]("+name+")")) {
			t.Errorf("README.md does not lead to %s", name)
		}
		picture := "pictures/" + strings.TrimSuffix(filepath.Base(name), ".txt") + ".svg"
		want, err := os.ReadFile(picture)
		if err != nil {
			return // the text is enough
		}
		// The drawing is that of the client's traces, in which requests have no names.
		text := requestName.ReplaceAllString(string(src), "$1 ")
		text = written.ReplaceAllString(text, "< write $1 $3$2")
		got := tracepage.SVG(tracepage.New(name, strings.Split(command.ReplaceAllString(text, "< write $0"), "\n"), nil))
		if *update {
			want, err = got, os.WriteFile(picture, got, 0o666)
		}
		if err != nil || !bytes.Equal(got, want) || !bytes.Contains(page, []byte("]("+picture+")")) {
			t.Errorf("%s is not the picture of the trace, or not on the page: run go test ./server -update (%v)", picture, err)
		}
	})
}

var (
	requestName = regexp.MustCompile(`(?m)^([<>]) [a-z] `)
	written     = regexp.MustCompile(`(?m)^(create|update|delete) \S+(.*)\n= (.*)$`)
	command     = regexp.MustCompile(`(?m)^(start|fault).*$`)
)

// each runs a test for each trace that names a server.
func each(t *testing.T, server string, test func(t *testing.T, name string, src []byte, f *servertrace.File)) {
	names, _ := filepath.Glob("testdata/*.txt") // the pattern is right
	if len(names) == 0 {
		t.Fatal("no traces")
	}
	for _, name := range names {
		src, err := os.ReadFile(name)
		must.OK(t, err)
		f, err := servertrace.Parse(src)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if server == "" || slices.Contains(f.Servers, server) {
			t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) { test(t, name, src, f) })
		}
	}
}

func playInMemory(t *testing.T, f *servertrace.File, server string) (lines []string) {
	synctest.Test(t, func(t *testing.T) {
		var err error
		lines, err = servertrace.Play(f, func(options string) (servertrace.Server, error) { return start(t, server, options) })
		must.OK(t, err)
	})
	return lines
}

// memory is apitest over connections in memory, or a relay in front of it.
type memory struct {
	*apitest.Server
	read *http.Client
}

// start starts a server with the options of a trace. Only the window of a relay can shrink.
func start(t *testing.T, name, options string) (servertrace.Server, error) {
	var least, most int
	n, _ := fmt.Sscanf(options, "window=%d most=%d", &least, &most) // it reads what there is
	understood := [...]string{"", fmt.Sprintf("window=%d", least), fmt.Sprintf("window=%d most=%d", least, most)}[n]
	opts := apitest.Options{Window: max(least, most), NoProgress: options == "no-progress"}
	if options != understood && !opts.NoProgress {
		return nil, errors.New("want window=N, window=N most=N or no-progress")
	}
	server, listener := apitest.StartInMemory(t, opts)
	dial := listener.Dial
	if name == "relay" {
		dial = startRelay(t, listener, watchcache.Options{MinEvents: least, MaxEvents: opts.Window})
	}
	connections := &http.Transport{DialContext: dial}
	t.Cleanup(connections.CloseIdleConnections)
	return &memory{server, &http.Client{Transport: connections}}, nil
}

func TestStartErrors(t *testing.T) {
	for _, options := range []string{"window", "window=2 mots=3", "window=2 most=3 no-progress", "most=3", "no-progress window=2"} {
		if _, err := start(t, "apitest", options); err == nil {
			t.Errorf("start %s: no error", options)
		}
	}
}

// startRelay starts a relay of ConfigMaps, which passes on what asks for other types.
func startRelay(t *testing.T, upstream *apitest.Listener, cache watchcache.Options) (dial func(context.Context, string, string) (net.Conn, error)) {
	client, err := transport.NewClient(transport.Config{Server: upstream.URL, Dial: upstream.Dial})
	must.OK(t, err)
	t.Cleanup(client.Close)
	configMaps, err := discovery.Resolve(t.Context(), client, "configmaps")
	must.OK(t, err)
	r, err := relay.New(client, relay.Options{
		Resources: []discovery.Resource{*configMaps}, Cache: cache, PassOn: true, Authorize: relay.AllowAll,
		Authenticate: func(*http.Request) (*relay.User, error) { return &relay.User{Name: "reader"}, nil },
	})
	must.OK(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = r.Run(ctx) })
	network := memnet.New()
	stop := network.Serve(&http.Server{Handler: r})
	t.Cleanup(func() {
		cancel()
		running.Wait()
		stop()
	})
	synctest.Wait()
	return network.Dial
}

func (m *memory) Read(req *http.Request) (*http.Response, error) {
	req.URL.Scheme, req.URL.Host = "http", "localhost"
	return m.read.Do(req)
}

func (m *memory) Write(w servertrace.Write) (string, error) {
	switch w.Verb {
	case "create":
		return m.Create(w.Resource, w.Object)
	case "update":
		return m.Update(w.Resource, w.Object)
	}
	return m.Delete(w.Resource, "default", w.Name)
}

// Fault asks the server for a fault as a request does.
func (m *memory) Fault(text string) error {
	if name, ok := strings.CutPrefix(text, "route?replica="); ok {
		m.Replica(name) // a request alone cannot make it
	}
	answer := httptest.NewRecorder()
	m.ServeHTTP(answer, httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/_faults/"+text, nil))
	if answer.Code != http.StatusOK {
		return errors.New(answer.Body.String())
	}
	return nil
}

func (m *memory) Settle(int, func() int) { synctest.Wait() }
