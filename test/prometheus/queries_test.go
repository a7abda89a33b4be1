package check

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"

	dto "github.com/prometheus/client_model/go"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/protocol"
)

// checker checks queries, and notes which metrics they ask for.
type checker struct {
	metrics map[string]family
	asked   map[string]bool
	wrong   []string // what was found
}

func newChecker(t *testing.T) *checker {
	return &checker{metrics: familiesOf(t, registry()), asked: map[string]bool{}}
}

// isReason reports whether a word is one of relist's reasons. A query that leaves out one that
// there is not leaves out nothing.
func isReason(word string) bool {
	for r := protocol.Reason(1); r.String() != "unknown"; r++ {
		if r.String() == word {
			return true
		}
	}
	return false
}

func (c *checker) errorf(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

// query parses a query with Prometheus' parser. Each metric of it must be there, with each label
// that the query names, and each counter must be in a function that knows how to count.
func (c *checker) query(where, query string) {
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		c.errorf("%s: %s: %v", where, query, err)
		return
	}
	var metrics []family
	parser.Inspect(expr, func(node parser.Node, path []parser.Node) error {
		selector, is := node.(*parser.VectorSelector)
		if !is {
			return nil
		}
		name, f, ok := seriesOf(c.metrics, selector.Name)
		if !ok {
			c.errorf("%s: %s: there is no metric %s", where, query, selector.Name)
			return nil
		}
		c.asked[name] = true
		metrics = append(metrics, f)
		for _, m := range selector.LabelMatchers {
			if m.Name == model.MetricNameLabel {
				continue
			}
			if !has(f, m.Name) {
				c.errorf("%s: %s: %s has no label %s", where, query, name, m.Name)
			}
			if values := f.labels[m.Name]; m.Type == labels.MatchEqual && !values[m.Value] {
				c.errorf("%s: %s: %s has no %s=%q", where, query, name, m.Name, m.Value)
			}
			if m.Name == "reason" && m.Type == labels.MatchNotEqual && !isReason(m.Value) {
				c.errorf("%s: %s: there is no reason %q", where, query, m.Value)
			}
		}
		inRange := slices.ContainsFunc(path, func(n parser.Node) bool { _, is := n.(*parser.MatrixSelector); return is })
		if counts := f.kind != dto.MetricType_GAUGE; counts != inRange {
			c.errorf("%s: %s: %s is a %s", where, query, name, f.kind)
		}
		return nil
	})
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		var named []string
		switch n := node.(type) {
		case *parser.AggregateExpr:
			named = n.Grouping
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				named = n.VectorMatching.MatchingLabels
			}
		}
		for _, label := range named {
			if !slices.ContainsFunc(metrics, func(f family) bool { return has(f, label) }) {
				c.errorf("%s: %s: nothing has the label %s", where, query, label)
			}
		}
		return nil
	})
}

// has reports whether series of a metric have a label: one of ours, or one that Prometheus gives to
// all.
func has(f family, label string) bool {
	switch label {
	case "instance", "job":
		return true
	case "le":
		return f.kind == dto.MetricType_HISTOGRAM
	}
	return f.labels[label] != nil
}

// variables are what Grafana puts into a query.
var variables = strings.NewReplacer("$__rate_interval", "5m", "$name", "configmaps|pods")

// The dashboard asks for metrics that there are, and for each of them.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("../../prometheus/dashboard.json")
	must.OK(t, err)
	var dashboard struct {
		Panels []struct {
			ID         int
			Title      string
			Type       string
			Datasource struct{ UID string }
			GridPos    struct{ X, Y, W, H int }
			Targets    []struct{ RefID, Expr, LegendFormat string }
		}
		Templating struct {
			List []struct{ Name, Type, Query string }
		}
	}
	must.OK(t, json.Unmarshal(text, &dashboard))
	c := newChecker(t)
	ids, places := map[int]bool{}, map[[2]int]string{}
	for _, p := range dashboard.Panels {
		if ids[p.ID] || p.Title == "" || p.Type != "row" && (len(p.Targets) == 0 || p.Datasource.UID != "${datasource}") {
			t.Errorf("the panel %+v", p)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := places[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s lies over %s, or over the edge", p.Title, other)
				}
				places[[2]int{x, y}] = p.Title
			}
		}
		for _, target := range p.Targets {
			c.query(p.Title, variables.Replace(target.Expr))
			if target.LegendFormat == "" || !strings.Contains(target.Expr, `{name=~"$name"`) {
				t.Errorf("%s: %s has no legend, or does not choose a name", p.Title, target.Expr)
			}
		}
	}
	for name := range c.metrics {
		if !c.asked[name] {
			t.Errorf("no panel shows %s", name)
		}
	}
	for _, v := range dashboard.Templating.List {
		if selector, is := strings.CutPrefix(v.Query, "label_values("); is {
			c.variable(strings.TrimSuffix(selector, ", name)"))
		}
	}
	for _, wrong := range c.wrong {
		t.Error(wrong)
	}
}

// variable checks the query of a variable: the names of its metrics are there.
func (c *checker) variable(selector string) {
	matchers, err := parser.NewParser(parser.Options{}).ParseMetricSelector(selector)
	if err != nil || len(matchers) != 1 || matchers[0].Type != labels.MatchRegexp {
		c.errorf("%s: %v %v", selector, matchers, err)
		return
	}
	for name := range strings.SplitSeq(matchers[0].Value, "|") {
		if _, ok := c.metrics[name]; !ok {
			c.errorf("%s: there is no metric %s", selector, name)
		}
	}
}

// The alerts are as Prometheus wants them, and ask for metrics that there are.
func TestAlerts(t *testing.T) {
	rules := parser.NewParser(parser.Options{})
	groups, errs := rulefmt.ParseFile("../../prometheus/alerts.yaml", false, model.UTF8Validation, rules, slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Error(err)
	}
	if groups == nil || len(groups.Groups) != 1 || len(groups.Groups[0].Rules) == 0 {
		t.Fatalf("there are no rules: %+v", groups)
	}
	c := newChecker(t)
	for _, rule := range groups.Groups[0].Rules {
		c.query(rule.Alert, rule.Expr)
		if rule.Alert == "" || rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" {
			t.Errorf("the rule %+v", rule)
		}
	}
	for _, wrong := range c.wrong {
		t.Error(wrong)
	}
}

// A checker finds what is wrong: a query that nobody can answer.
func TestChecker(t *testing.T) {
	for query, want := range map[string]bool{
		`relist_objects`: true,
		`rate(relist_events_total{type="ADDED"}[5m])`: true,
		`relist_objects{`:                               false,
		`relist_things`:                                 false,
		`relist_objects{kind="pod"}`:                    false,
		`rate(relist_events_total{type="added"}[5m])`:   false,
		`relist_events_total`:                           false,
		`rate(relist_objects[5m])`:                      false,
		`relist_list_duration_seconds`:                  false,
		`sum by (kind) (relist_objects)`:                false,
		`relist_objects / on (kind) relist_queue_depth`: false,
	} {
		c := newChecker(t)
		c.query("", query)
		if passes := len(c.wrong) == 0; passes != want {
			t.Errorf("%s passes: %v, want %v; %q", query, passes, want, c.wrong)
		}
	}
}
