package durable_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/listwatch"
)

// A list that is cut off is not being read any more.
func TestListedOfABrokenList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for i := range 600 {
			r.create("a", fmt.Sprint("o", i), nil)
		}
		if _, err := r.server.Cut(apitest.Cut{Lists: true, After: 60_000, Next: 1000}); err != nil {
			t.Fatal(err)
		}
		most := 0
		trace := func(o *durable.Options) {
			o.Reflector.PageSize = -1
			o.Trace = &durable.Trace{ListPart: func(n int) { most = max(most, n) }}
		}
		_ = r.run(listwatch.Options[*thing]{}, trace, func(m *durable.Mirror[*thing]) {
			if s := m.Status(); most == 0 || s.Listed != 0 {
				t.Errorf("%d objects have come at most, and the status has %d in a pause; want 0", most, s.Listed)
			}
		})
	})
}

// Every line says what it is about in the same way: those of the copy, and those of the reflector.
func TestLogAttributes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.create("a", "web", nil)
		_ = r.run(listwatch.Options[*thing]{Namespace: "a"}, nil, nil)
		for line := range strings.Lines(r.log.String()) {
			if !strings.Contains(line, " resource=configmaps namespace=a ") {
				t.Errorf("a line without the resource and the namespace: %s", line)
			}
		}
		if !strings.Contains(r.log.String(), "relist: copy opened") {
			t.Errorf("the log has nothing of the copy: %s", r.log.String())
		}
	})
}
