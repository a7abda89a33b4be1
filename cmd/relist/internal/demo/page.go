package demo

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/relist-go/relist/cmd/internal/cli/report"
)

// wide is the terminal on which a result is one line.
const wide = 76

// introduce says what will be shown.
func (d *demo) introduce() {
	d.say("", "An API server has %d objects. %d a second change, come or go. relist and a simple loop copy them. The loop watches from the "+
		"last version it saw, and from none after a 410 (\"version gone\"). Delays are 6 to 120 times shorter.", objects, rate)
	d.say("", "")
	if d.opts.Columns >= wide {
		d.say("", "  %-26s%8s  the simple loop", "relist", "fresh in")
	}
}

// result says what each client made of a fault.
func (d *demo) result(s scene, took time.Duration, loop differences) {
	fresh, mark := report.Short(report.Seconds(took.Round(time.Millisecond))), report.Bad
	if loop == (differences{}) {
		mark = ""
	}
	if d.opts.Columns < wide {
		d.say(report.Good, "  relist, fresh in %s: %s", fresh, s.client)
		d.say(mark, "  the loop: %s", loop)
		return
	}
	line := d.out.Paint(report.Good, fmt.Sprintf("  %-26s%8s  ", s.client, fresh)) + d.out.Paint(mark, loop.String())
	_, _ = fmt.Fprintln(d.out, line) // Close returns the error
}

// conclude compares, prints the result, and returns an error unless all is well.
func (d *demo) conclude() error {
	server, copied, loop := len(d.serverHas((*unstructured.Unstructured).GetName)), d.copyDiffers(), d.loopDiffers()
	d.say("", "")
	d.say("", "The server has %d objects. relist's copy: %s, after %d lists.", server, copied, d.tally.count("lists"))
	d.say("", "The loop keeps %d deleted objects, lacks %d, and has %d old. An object that it cannot decode stops it until a 410. It never lists: after 410s "+
		"it began %d watches without a version. These tell what exists, not what went meanwhile. It noticed neither the restored backup nor the silence.",
		loop.deleted, loop.missing, loop.old, d.tally.count("loop starts")-1)
	if copied != (differences{}) {
		d.say(report.Bad, "relist's copy DOES NOT match the server")
	} else {
		d.say(report.Good, "relist's copy matches the server")
	}
	if d.failed || copied != (differences{}) {
		return errors.New("the demonstration did not succeed: see the result above")
	}
	return nil
}

// say prints text in lines that the terminal has room for. If the text has a mark, all lines but
// the first are indented.
func (d *demo) say(mark, format string, args ...any) {
	text, indent := fmt.Sprintf(format, args...), ""
	if mark != "" {
		indent = "  "
	}
	for len(text) > d.opts.Columns {
		end := strings.LastIndex(text[:d.opts.Columns+1], " ")
		if end <= len(indent) {
			break // one long word
		}
		_, _ = fmt.Fprintln(d.out, d.out.Paint(mark, text[:end])) // Close returns the error
		text = indent + text[end+1:]
	}
	_, _ = fmt.Fprintln(d.out, d.out.Paint(mark, text)) // as above
}
