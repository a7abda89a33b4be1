package trace

import (
	"slices"
	"strings"
	"testing"

	"github.com/relist-go/relist/internal/must"
)

// What was composed is a trace that passes.
func TestCompose(t *testing.T) {
	text, err := Compose(Mirror, func(c *Composer) error {
		came, err := c.Say("# Why.", "", "start path=/apis/apps/v1/deployments kind=Deployment selector=a=b field-selector=metadata.name!=x")
		if err != nil {
			return err
		}
		const list = "> GET /apis/apps/v1/deployments?fieldSelector=metadata.name%21%3Dx&labelSelector=a%3Db&limit=500&resourceVersion=0"
		if want := []string{list}; !slices.Equal(came, want) {
			t.Errorf("the start gave %q, want %q", came, want)
		}
		for _, lines := range [][]string{
			{"< 200 list rv=5", "\tweb/a@3", "\t/b@4"},
			{"pop 2"},
			{"", "< 200 watch"},
			{"< MODIFIED web/a@6"},
			{"pop 1"},
			{"stop"},
		} {
			if _, err := c.Say(lines...); err != nil {
				return err
			}
		}
		return nil
	})
	must.OK(t, err)
	for _, want := range []string{"= /b Replaced@4\n", "= web/a Updated@6\n", "stop\n> close\n"} {
		want = strings.Replace(want, "/b", "b", 1)
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	f, err := Parse("composed", text)
	must.OK(t, err)
	if _, err := Replay(f, Mirror, nil); err != nil {
		t.Error(err)
	}
}

func TestComposeErrors(t *testing.T) {
	for _, test := range []struct {
		lines []string
		want  string
	}{
		{[]string{"> GET /"}, "want a line of an author"},
		{[]string{"< eof", "< eof"}, "one stimulus at a time"},
		{[]string{"# a\nb"}, "want a line of an author"},
		{[]string{"< frob"}, "not a line of the server"},
		{[]string{"< eof"}, "no answer has begun"},
		{[]string{"restart"}, "the program runs"},
	} {
		_, err := Compose(Mirror, func(c *Composer) error {
			if _, err := c.Say("start"); err != nil {
				return err
			}
			_, err := c.Say(test.lines...)
			return err
		})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: error %v, want %q", test.lines, err, test.want)
		}
	}
}
