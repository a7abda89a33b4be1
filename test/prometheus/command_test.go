package check

import (
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/prometheus/model/textparse"
)

// `relist-sql mirror` writes its metrics by hand: Prometheus' parsers read them, and they are those
// of the module. The page has the same events as [registry]; a test of the command keeps it up to
// date.
func TestCommand(t *testing.T) {
	text, err := os.ReadFile("../../cmd/relist-sql/internal/metrics/testdata/metrics.txt")
	must(t, err)
	parse(t, text)

	want := familiesOf(t, registry())
	have := familiesOf(t, gathered(func() ([]*dto.MetricFamily, error) { return decode(text) }))
	for name, f := range have {
		w, ok := want[name]
		if !ok || f.kind != w.kind || f.help != w.help {
			t.Errorf("%s: %v %q, want %v %q", name, f.kind, f.help, w.kind, w.help)
			continue
		}
		if !maps.EqualFunc(f.labels, w.labels, maps.Equal) {
			t.Errorf("%s has the labels %v, want %v", name, f.labels, w.labels)
		}
	}
	ofInformers := []string{"relist_objects", "relist_queue_depth", "relist_handler_pending_objects"}
	for name := range want {
		ofControllers := strings.HasPrefix(name, "relist_workqueue_") || strings.HasPrefix(name, "relist_controller_")
		if _, ok := have[name]; !ok && !ofControllers && !slices.Contains(ofInformers, name) {
			t.Errorf("the command lacks %s", name)
		}
	}
}

type gathered func() ([]*dto.MetricFamily, error)

func (g gathered) Gather() ([]*dto.MetricFamily, error) { return g() }

// parse reads every line with the parser that Prometheus scrapes with.
func parse(t *testing.T, text []byte) {
	t.Helper()
	p, err := textparse.New(text, "text/plain; version=0.0.4; charset=utf-8", nil, textparse.ParserOptions{})
	must(t, err)
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
func decode(text []byte) (families []*dto.MetricFamily, err error) {
	decoder := expfmt.NewDecoder(strings.NewReader(string(text)), expfmt.NewFormat(expfmt.TypeTextPlain))
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

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
