package discovery

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/relist-go/relist/internal/near"
	"github.com/relist-go/relist/internal/visible"
)

// nameError is the error for a name that no resource can have. advice says what to write instead.
func nameError(name, advice string) error {
	return fmt.Errorf("%q is not the name of a resource: %s", name, advice)
}

// NotFoundError is the error for a name that no resource of the server has.
type NotFoundError struct {
	Name    string
	Near    []string // names that look like it, at most four
	Missing []string // groups that did not answer, with their versions
}

// Error names what is there instead.
func (e *NotFoundError) Error() string {
	msg := fmt.Sprintf("the server has no resource %q", e.Name)
	if len(e.Near) > 0 {
		msg += "; did you mean " + enumerate(e.Near) + "?"
	}
	if len(e.Missing) > 0 {
		msg += " (these groups did not answer: " + enumerate(e.Missing) + ")"
	}
	return msg
}

// enumerate writes names of a server on one line, whatever they are.
func enumerate(names []string) string {
	shown := make([]string, min(len(names), maxKnown))
	for i := range shown {
		shown[i] = visible.OneLine(names[i][:min(len(names[i]), maxName)])
	}
	text := strings.Join(shown, ", ")
	if more := len(names) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// MissingError says that a list of resources lacks groups, because they did not answer.
type MissingError struct {
	Groups []string // with their versions: metrics.k8s.io/v1beta1
}

// Error names the groups.
func (e *MissingError) Error() string {
	return "discover what the server serves: these groups did not answer: " + enumerate(e.Groups)
}

// maxKnown is how many groups an error lists. maxName is how much of a name it shows; a plural and
// its group have up to 63 and 253 bytes.
const (
	maxKnown = 30
	maxName  = 320
)

// version matches the versions of the API, and none of its groups.
var version = regexp.MustCompile(`^v\d+((alpha|beta)\d+)?$`)

// near returns the resources whose names are like the one that was typed, the most alike first. If
// a name is right, the group may differ.
func (c *catalog) near(q query) []string {
	var names []near.Name
	for _, r := range c.resources {
		if !r.Can("watch") {
			continue
		}
		name := r.GroupResource().String()
		if len(q.readings) > 1 && r.Group != "" && version.MatchString(q.readings[0].Version) { // and maybe the wrong one
			name = r.Resource + "." + r.Version + "." + r.Group
		}
		names = append(names, near.Name{Name: name, Spellings: append([]string{r.Resource, r.Singular}, r.ShortNames...)})
	}
	return near.Like(q.resource, names)
}
