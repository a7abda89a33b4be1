package check

import (
	"bufio"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/prometheus/model/textparse"

	"github.com/relist-go/relist/apitest"
)

// `relist mirror` writes its metrics by hand: Prometheus' parsers read them, and they are those of the module.
func TestMirror(t *testing.T) {
	server, url := apitest.Start(t, apitest.Options{})
	// Something of every kind happens: a list that fails, a watch that is cut and then too old.
	must(t, server.FailNext(apitest.Failure{Verb: "list", Resource: "configmaps", Status: 503}))
	must(t, server.FailNext(apitest.Failure{Verb: "watch", Status: 410}))
	program := filepath.Join(t.TempDir(), "relist")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/relist")
	build.Dir = "../.." // the module of the command
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), program, "mirror", "configmaps", "-A", "--server", url, "-o", "none", "--status-listen", "127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	must(t, err)
	must(t, cmd.Start())
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_, _ = io.Copy(io.Discard, stderr)
		must(t, cmd.Wait())
	}()
	var address string
	for lines := bufio.NewScanner(stderr); address == ""; {
		if !lines.Scan() {
			t.Fatal("it does not say where its status is")
		}
		if at, ok := strings.CutPrefix(lines.Text(), "status on "); ok {
			address = strings.TrimSuffix(at, "/status")
		}
	}

	// A list, a relist and a watch follow each other within two seconds. The test waits for the last of them.
	var text []byte
	var contentType string
	for {
		text, contentType = get(t, address+"/metrics")
		if strings.Contains(string(text), `relist_relists_total{name="configmaps",reason="expired"} 1`) &&
			strings.Contains(string(text), `relist_state{name="configmaps",state="watching"} 1`) {
			break
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatalf("nothing came of it:\n%s", text)
		}
	}
	parse(t, text, contentType)

	want := familiesOf(t, registry())
	have := familiesOf(t, gathered(func() ([]*dto.MetricFamily, error) { return decode(text, contentType) }))
	for name, f := range have {
		w, ok := want[name]
		if !ok || f.kind != w.kind || f.help != w.help {
			t.Errorf("%s: %v %q, want %v %q", name, f.kind, f.help, w.kind, w.help)
			continue
		}
		if !slices.Equal(slices.Sorted(maps.Keys(f.labels)), slices.Sorted(maps.Keys(w.labels))) {
			t.Errorf("%s has the labels %v, want %v", name, f.labels, w.labels)
		}
		for label, values := range w.labels {
			if label != "reason" && !maps.Equal(values, f.labels[label]) {
				t.Errorf("%s has the values %v of %s, want %v", name, f.labels[label], label, values)
			}
		}
	}
	for name := range want {
		controllers := strings.HasPrefix(name, "relist_workqueue_") || strings.HasPrefix(name, "relist_controller_")
		if _, ok := have[name]; !ok && !controllers && name != "relist_handler_pending_objects" {
			t.Errorf("/metrics lacks %s", name)
		}
	}
}

type gathered func() ([]*dto.MetricFamily, error)

func (g gathered) Gather() ([]*dto.MetricFamily, error) { return g() }

var _ prometheus.Gatherer = gathered(nil)

// parse reads every line with the parser that Prometheus scrapes with.
func parse(t *testing.T, text []byte, contentType string) {
	t.Helper()
	p, err := textparse.New(text, contentType, nil, textparse.ParserOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for series := 0; ; {
		entry, err := p.Next()
		switch {
		case errors.Is(err, io.EOF):
			if series < 40 {
				t.Errorf("there are only %d series", series)
			}
			return
		case err != nil:
			t.Fatalf("%v in\n%s", err, text)
		case entry == textparse.EntrySeries:
			series++
		}
	}
}

// decode reads metrics with the parser of Prometheus' client libraries.
func decode(text []byte, contentType string) (families []*dto.MetricFamily, err error) {
	decoder := expfmt.NewDecoder(strings.NewReader(string(text)), expfmt.ResponseFormat(http.Header{"Content-Type": {contentType}}))
	for {
		f := &dto.MetricFamily{}
		if err := decoder.Decode(f); errors.Is(err, io.EOF) {
			return families, nil
		} else if err != nil {
			return nil, err
		}
		families = append(families, f)
	}
}

func get(t *testing.T, url string) (body []byte, contentType string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	must(t, err)
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	must(t, err)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", url, resp.Status)
	}
	return body, resp.Header.Get("Content-Type")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
