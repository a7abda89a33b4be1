// Package server_test plays the golden traces of the server's half, in testdata, to apitest.
package server_test

import (
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/internal/servertrace"
)

var update = flag.Bool("update", false, "rewrite the lines of runs in traces")

// TestTrace plays each file to apitest, in virtual time.
func TestTrace(t *testing.T) {
	names, _ := filepath.Glob("testdata/*.txt") // the pattern is right
	if len(names) == 0 {
		t.Fatal("no traces")
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			f, err := servertrace.Parse(src)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var got []string
			synctest.Test(t, func(t *testing.T) {
				got, err = servertrace.Play(f, func(options string) (servertrace.Server, error) { return start(t, options) })
			})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			text := strings.Join(got, "\n") + "\n"
			if *update {
				err = os.WriteFile(name, []byte(text), 0o666)
			}
			if diff := cmp.Diff(strings.Split(string(src), "\n"), strings.Split(text, "\n")); diff != "" && !*update || err != nil {
				t.Errorf("%s (-file +run): %v\n%s", name, err, diff)
			}
		})
	}
}

// memory is apitest over connections in memory.
type memory struct {
	*apitest.Server
	url    string
	client *http.Client
}

// start starts apitest with options such as "window=3 no-progress".
func start(t *testing.T, options string) (servertrace.Server, error) {
	var opts apitest.Options
	for option := range strings.FieldsSeq(options) {
		if _, err := fmt.Sscanf(option, "window=%d", &opts.Window); err != nil && option != "no-progress" {
			return nil, fmt.Errorf("%s: want window=N or no-progress", option)
		}
		opts.NoProgress = opts.NoProgress || option == "no-progress"
	}
	server, listener := apitest.StartInMemory(t, opts)
	transport := &http.Transport{DialContext: listener.Dial}
	t.Cleanup(transport.CloseIdleConnections)
	return &memory{server, listener.URL, &http.Client{Transport: transport}}, nil
}

func (m *memory) Read(req *http.Request) (*http.Response, error) {
	at, err := url.Parse(m.url)
	req.URL.Scheme, req.URL.Host = at.Scheme, at.Host
	if err != nil {
		return nil, err
	}
	return m.client.Do(req)
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

func (m *memory) Fault(text string) error {
	resp, err := m.client.Post(m.url+"/_faults/"+text, "", nil) //nolint:noctx // the server is in memory
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s", resp.Status)
	}
	return nil
}

func (m *memory) Settle(int, func() int) { synctest.Wait() }
