package show

import (
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/relist-go/relist/cmd/internal/cli/report"
)

// Headings are those of a table of objects. Namespaced says that objects have a namespace.
func Headings(namespaced bool) []string {
	if namespaced {
		return []string{"NAMESPACE", "NAME", "AGE"}
	}
	return []string{"NAME", "AGE"}
}

// Row is the row of an object below the Headings.
func Row(object map[string]any, namespaced bool, now time.Time) []string {
	row := []string{metadata(object, "name"), age(object, now)}
	if namespaced {
		row = append([]string{metadata(object, "namespace")}, row...)
	}
	return row
}

// none stands in a cell for a field that is not there, as kubectl writes it.
const none = "<none>"

func metadata(object map[string]any, name string) string {
	fields, _ := object["metadata"].(map[string]any)
	if text, ok := fields[name].(string); ok && text != "" {
		return report.Word(text)
	}
	return none
}

func age(object map[string]any, now time.Time) string {
	created, err := time.Parse(time.RFC3339, metadata(object, "creationTimestamp"))
	if err != nil {
		return none
	}
	return duration.HumanDuration(now.Sub(created))
}
