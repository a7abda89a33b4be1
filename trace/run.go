package trace

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/internal/target"
)

// server is the host name of the API server, which is never resolved.
const server = "http://apiserver.test"

// run is the state of a run. One goroutine owns it, in a bubble of testing/synctest
// whose clock begins at midnight of 2000-01-01, UTC.
type run struct {
	file    *File
	program Program
	echo    func(line string) // called with each line as it is written
	record  *recorder         // nil if the run is not to be looked at
	pair    *pair             // nil if the file is for one program

	lines  []string // written so far: the author's and the run's
	since  time.Time
	synced bool
	env    Env // of the client

	peer   *peer
	client Client
	cancel context.CancelFunc
	done   chan struct{} // closed when Run has returned; nil if Run was not called
}

func inBubble(t *testing.T, f *File, program Program, echo func(string), record *recorder) (got []string, err error) {
	synctest.Test(t, func(*testing.T) {
		if record != nil {
			record.start = time.Now()
		}
		got, err = play(f, program, echo, record)
	})
	return got, err
}

// play runs a file and returns the text that it should have. If the run cannot
// continue, play returns an error, and the text ends at the line that could not be
// played.
func play(f *File, program Program, echo func(string), record *recorder) ([]string, error) {
	r := &run{file: f, program: program, echo: echo, record: record, peer: newPeer()}
	if f.heading("beside") != "" {
		r.pair = &pair{objects: map[string]string{}}
	}
	at, err := r.all()
	err = errors.Join(err, r.end(err == nil))
	if err != nil {
		err = f.errorAt(max(at, 0), err)
	}
	return r.lines, err
}

// all plays every line, and returns the index of the one it ended at.
func (r *run) all() (at int, err error) {
	lines := r.file.lines
	for i, l := range lines {
		if l.kind == observed {
			continue
		}
		r.write(l.text)
		if l.stimulus != nil {
			at = i
		}
		more := i+1 < len(lines) && lines[i+1].kind == listItem
		if (l.kind != stimuli && l.kind != listItem) || more {
			continue
		}
		if err := r.play(lines[at].stimulus); err != nil {
			return at, err
		}
	}
	return at, nil
}

// play plays one stimulus, and writes the lines that result from it.
func (r *run) play(s stimulus) error {
	r.since = time.Now()
	play := s.play
	if r.pair != nil {
		play = func(r *run) error { return r.tell(s) }
	}
	if err := play(r); err != nil {
		return err
	}
	synctest.Wait()
	err := r.observe()
	_, watches := r.peer.streaming()
	if r.pair != nil {
		r.pair.open = r.open()
	}
	r.record.played(r.client, r.pair, watches)
	return err
}

func (r *run) write(text string) {
	r.lines = append(r.lines, text)
	r.echo(text)
}

// put writes a line for something that has just happened.
func (r *run) put(text string) { r.putAt(time.Now(), text) }

func (r *run) putAt(at time.Time, text string) {
	if passed := at.Sub(r.since); passed > 0 {
		r.write("~ " + target.Duration(passed))
		r.since = at
	}
	r.write(text)
}

// settle lets the program run until it waits for something, and writes what it did.
//
// An error of observe is kept, and returned after the stimulus has been played.
func (r *run) settle() {
	synctest.Wait()
	_ = r.observe()
}

// observe writes what the program did.
func (r *run) observe() error {
	notes, err := r.peer.take()
	for _, n := range notes {
		for _, text := range n.lines {
			r.putAt(n.at, text)
		}
	}
	select {
	case <-r.peer.visible: // take has returned all notes
	default:
	}
	if !r.synced && r.client != nil && r.client.Synced() {
		r.synced = true
		r.put("= synced")
	}
	return err
}

func (r *run) start(s *start) error {
	r.peer.headers, r.peer.http2, r.peer.random = s.headers, s.options.Transport == overHTTP2, s.random
	r.env = Env{
		Server:  server,
		Path:    s.of.path,
		Kind:    s.of.kind,
		Dial:    r.peer.dial,
		Options: s.options,
		Rand:    r.peer.rand,
		Problem: r.peer.problem,
		Say:     r.peer.say,
	}
	client, err := r.program(r.env)
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	r.client = client
	r.launch()
	r.settle()
	return nil
}

// startSaved makes a new client, which has what the last one saved, and nothing else.
func (r *run) startSaved() error {
	saver, ok := r.client.(interface{ Saved() any })
	if !ok {
		return errors.New("the program cannot save what it has")
	}
	env := r.env
	env.Saved = saver.Saved()
	client, err := r.program(env)
	if err != nil {
		return err
	}
	r.client.Close()
	r.client, r.synced = client, false
	return nil
}

func (r *run) launch() {
	ctx, cancel := context.WithCancel(r.record.observe(context.Background()))
	done := make(chan struct{})
	r.cancel, r.done = cancel, done
	r.peer.mu.Lock()
	r.peer.ended = nil // that was the run before
	r.peer.mu.Unlock()
	go func() {
		defer close(done)
		err := r.client.Run(ctx)
		if ctx.Err() == nil {
			r.peer.stopped(err)
		}
	}()
}

// patience is how long a program may take to stop before the run gives up.
const patience = time.Hour

// stop ends Run. If Run does not end at once, stop writes the time that it took.
// While it ends, the program may do nothing but close, and say what it did.
func (r *run) stop() error {
	if r.done == nil {
		return errors.New("stop: the program does not run")
	}
	before := len(r.lines)
	r.cancel()
	synctest.Wait()
	select {
	case <-r.done:
	default:
		select {
		case <-r.done:
			r.settle()
			r.put("= stopped")
		case <-time.After(patience):
			return fmt.Errorf("stop: the program still runs after %s", target.Duration(patience))
		}
	}
	r.done = nil
	r.settle()
	for _, text := range r.lines[before:] {
		if text != "> close" && text != "> rst CANCEL" && text[0] != '=' && text[0] != '~' {
			return fmt.Errorf("stop: the program must do nothing more than close: %s", text)
		}
	}
	return nil
}

// end closes the client and all connections, in every state of the run. After a
// whole run it checks that the client has left no connection open.
func (r *run) end(whole bool) error {
	if r.client == nil {
		return nil
	}
	var err error
	if r.done != nil {
		lines := r.lines
		r.echo = func(string) {} // the rest is not part of the conversation
		err = r.stop()
		r.lines = lines
	}
	r.client.Close()
	synctest.Wait()
	if n := r.peer.leaked(); n > 0 && whole {
		err = errors.Join(err, fmt.Errorf("the program has stopped, and left %d connections open", n))
	}
	r.peer.shutDown()
	synctest.Wait()
	return err
}
