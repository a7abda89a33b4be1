package trace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/relist-go/relist/internal/hook"
	"github.com/relist-go/relist/internal/target"
	"github.com/relist-go/relist/internal/tracepage"
	"github.com/relist-go/relist/protocol"
)

// Recording is a run of a trace, to be looked at.
type Recording struct {
	page   *tracepage.Recording
	beside *tracepage.Recording // of the program that the heading "# beside: name" names, or nil
}

// HTML returns a page that steps through the run, or through those of two programs side by side if
// the file has the heading for it. It is whole in itself: it needs no server and no network.
func (r *Recording) HTML() []byte {
	if r.beside != nil {
		return tracepage.HTMLBeside(r.page, r.beside)
	}
	return tracepage.HTML(r.page)
}

// SVG returns the sequence diagram of the run.
func (r *Recording) SVG() []byte { return tracepage.SVG(r.page) }

// Purpose returns the comment at the beginning of the file, one line for each paragraph.
func (r *Recording) Purpose() []string { return r.page.Purpose }

// Record runs f outside of go test and returns what happened. If the run differs from the file, the
// error is a [*Failure], and there is a Recording all the same, which shows how. If program is nil,
// it is the one that the file names.
//
// Do not call Record from two goroutines, nor from within a test's bubble.
func Record(f *File, program Program) (*Recording, error) {
	program, err := f.programOr(program)
	if err != nil {
		return nil, err
	}
	rec := &recorder{}
	got, broke := inBubble(new(testing.T), f, program, func(string) {}, rec) // as in Replay
	err = compare(f, got, broke)
	recording := rec.recording(f, got, err)
	if name := f.heading("beside"); name != "" && broke == nil && len(recording.page.Steps) > 0 {
		program, ok := named[name]
		if !ok {
			return nil, fmt.Errorf("%s: package trace has no program %q to play beside", f.Name, name)
		}
		rec := &recorder{}
		got, broke := inBubble(new(testing.T), f, program, func(string) {}, rec)
		if broke != nil {
			return recording, errors.Join(err, broke)
		}
		recording.beside = rec.recording(f, got, nil).page
		if recording.beside.Program = name; name == mirrorName {
			recording.beside.Program = "relist"
		}
	}
	return recording, err
}

// Transcript returns what a file says, without a run. It has the wire and what the client gave to
// its consumer.
func Transcript(f *File) *Recording { return (&recorder{}).recording(f, f.texts(), nil) }

// recorder notes what a run does after each stimulus. A nil recorder notes nothing.
type recorder struct {
	start   time.Time
	moments []tracepage.Moment

	mu    sync.Mutex
	rows  []tracepage.Row // of the stimulus that is being played
	state *tracepage.State
}

func (r *recorder) observe(ctx context.Context) context.Context {
	if r == nil {
		return ctx
	}
	return hook.With[hook.Step[*protocol.Machine, protocol.Input, protocol.Effect]](ctx, r.step)
}

// step notes a step of the machine. It runs on the goroutine of the reflector.
func (r *recorder) step(now time.Time, machine *protocol.Machine, in protocol.Input, effects []protocol.Effect) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, after := tracepage.State{Phase: "waiting"}, r.stateOf(machine, effects)
	if r.state != nil {
		before = *r.state
	}
	switch in.(type) {
	case protocol.Stopped:
		after.Phase = "stopped"
	default:
		if after.Phase == "listing" && streams(before, effects) {
			after.Phase = "streaming"
		}
	}
	if after.Phase == "waiting" && after.Backoff == "" {
		after.Backoff = before.Backoff
	}
	row := tracepage.Describe(now.Sub(r.start), before, after, in, effects)
	if _, took := in.(protocol.Took); took && len(r.rows) > 0 {
		r.rows[len(r.rows)-1].Merge(row)
	} else if row.Says() {
		r.rows = append(r.rows, row)
	}
	r.state = &after
}

// streams reports whether the state is asked for as the start of a watch, and not by a list.
func streams(before tracepage.State, effects []protocol.Effect) bool {
	streaming := before.Phase == "streaming"
	for _, e := range effects {
		switch e := e.(type) {
		case protocol.Watch:
			streaming = e.Initial
		case protocol.List:
			streaming = false
		}
	}
	return streaming
}

func (r *recorder) stateOf(machine *protocol.Machine, effects []protocol.Effect) tracepage.State {
	status := machine.Status()
	s := tracepage.State{Phase: status.State.String(), Resume: status.Resume, Synced: status.Synced}
	if !status.Failing.IsZero() {
		s.Failing = tracepage.Clock(status.Failing.Sub(r.start))
	}
	for _, e := range effects {
		if backoff, ok := e.(protocol.Backoff); ok {
			s.Backoff = target.Duration(backoff.Delay) + " (" + backoff.Reason.String() + ")"
		}
	}
	all, _ := machine.Quarantine()
	for _, q := range all {
		s.Quarantine = append(s.Quarantine, q.Meta.Key)
	}
	return s
}

// played notes what there is after a stimulus.
func (r *recorder) played(client Client, pair *pair, watches bool) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	moment := tracepage.Moment{Rows: r.rows, State: r.state, End: time.Since(r.start)}
	r.rows = nil
	if client != nil {
		moment.Store = client.Store()
	}
	if queue, ok := client.(interface{ Queued() []string }); ok {
		moment.Queue = queue.Queued()
	}
	if pair != nil {
		moment.Unasked, moment.Server, moment.Open, moment.Watches = pair.unasked, inWords(pair.objects), pair.open, watches
	}
	r.moments = append(r.moments, moment)
}

// leave writes the page of a run that has failed where the test's artifacts go.
func (r *recorder) leave(t *testing.T, f *File, lines []string, err error) {
	if r == nil {
		return
	}
	page := filepath.Join(t.ArtifactDir(), "trace.html")
	if err := os.WriteFile(page, r.recording(f, lines, err).HTML(), 0o666); err != nil { // everybody may read what a test has found
		t.Error(err)
		return
	}
	t.Logf("%s shows this run", page)
}

func (r *recorder) recording(f *File, lines []string, err error) *Recording {
	page := tracepage.New(f.Name, lines, r.moments)
	page.Program = f.Program()
	if failure, ok := errors.AsType[*Failure](err); ok {
		err = &Failure{Name: failure.Name, Diff: failure.Diff, Err: failure.Err} // the page has the purpose already
	}
	if err != nil {
		page.Failure = strings.TrimRight(err.Error(), "\n")
		same := 0
		for want := f.texts(); same < min(len(want), len(lines)) && want[same] == lines[same]; {
			same++
		}
		for page.Differs+1 < len(page.Steps) && page.Steps[page.Differs+1].Line <= same {
			page.Differs++
		}
	}
	return &Recording{page: page}
}
