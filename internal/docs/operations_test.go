package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/relist-go/relist/protocol"
)

// Each line that is logged at Info or above, each reason and each alert has its row in
// docs/operations.md, and no row is of something that is not there.
func TestOperationsNamesEverything(t *testing.T) {
	t.Chdir(root)
	page := readText(t, "docs/operations.md")
	sections := map[string][]string{}
	for section := range strings.SplitSeq(page, "\n## ") {
		title, rows, _ := strings.Cut(section, "\n")
		for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]+) \\|").FindAllStringSubmatch(rows, -1) {
			for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
				sections[title] = append(sections[title], name[1])
			}
		}
	}

	var reasons []string
	for r := protocol.Reason(1); r.String() != "unknown"; r++ {
		reasons = append(reasons, r.String())
	}
	var alerts []string
	for _, match := range regexp.MustCompile(`(?m)- alert: (\w+)$`).FindAllStringSubmatch(readText(t, "prometheus/alerts.yaml"), -1) {
		alerts = append(alerts, match[1])
	}
	var lines []string
	for file, logged := range map[string]*regexp.Regexp{
		"reflector/log.go":             regexp.MustCompile(`(?:slog\.LevelInfo|slog\.LevelWarn|protocol\.\w+:|LevelWarn, now|message =|level, message :?= [^"\n]*)[^"\n]*"(relist: [^"]+)"`),
		"informer/checkpoint.go":       regexp.MustCompile(`\.(?:Info|Warn)\("(relist: [^"]+)"`),
		"cmd/relist/relay.go":          regexp.MustCompile(`\.(?:Info|Warn)\("(relist: [^"]+)"`),
		"durable/status.go":            regexp.MustCompile(`\.(?:Info|Warn)\("(relist: [^"]+)"`),
		"controller/lease/election.go": regexp.MustCompile(`\.(?:Info|Warn)Context\(ctx, "(relist: [^"]+)"`),
		"controller/events/events.go":  regexp.MustCompile(`WarnContext\(ctx, "(relist: [^"]+)"`),
		"controller/log.go":            regexp.MustCompile(`"(relist: reconcile [\w ]+)"`),
	} {
		for _, match := range logged.FindAllStringSubmatch(readText(t, file), -1) {
			lines = append(lines, match[1])
		}
	}
	for title, want := range map[string][]string{"Reasons": reasons, "Alerts": alerts, "Log lines": lines} {
		if len(want) < 5 {
			t.Errorf("the code has %d of %q: %q", len(want), title, want)
		}
		for _, name := range want {
			if !slices.Contains(sections[title], name) && name != "relist: lists again" {
				t.Errorf("docs/operations.md has no row of %q under %q", name, title)
			}
		}
		for _, name := range sections[title] {
			if !slices.Contains(want, name) {
				t.Errorf("docs/operations.md has a row of %q under %q, which is not there", name, title)
			}
		}
	}
}
