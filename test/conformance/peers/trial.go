package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

type trial struct {
	client client
	fault  fault
	run    int
	home   string // the folder of the programs

	*world
	begun, over time.Time // of the fault

	out    sync.Mutex // guards what the client has said
	lines  []shown
	stop   string // the line "stopped REASON"
	exited bool
	exit   string // how
	said   []byte // the last of stderr
}

// result is what a trial has shown.
type result struct {
	Client   string  `json:"client"`
	Fault    string  `json:"fault"`
	Run      int     `json:"run"`
	Seconds  float64 `json:"seconds"`            // until the client followed again
	Stale    string  `json:"stale,omitempty"`    // if it did not: died, stopped, silent or stale
	Patience float64 `json:"patience,omitempty"` // how many seconds it was given, if it did not
	Requests int     `json:"requests"`
	Proto    string  `json:"proto"`
	Release  string  `json:"release"`
	Said     string  `json:"said,omitempty"` // on stderr, the last of it
}

// String is what a cell of the page has.
func (r result) String() string {
	return cmp.Or(r.Stale, fmt.Sprintf("%.1f s", r.Seconds))
}

// What becomes of a client that does not follow again.
const (
	died    = "died"    // the process has ended
	stopped = "stopped" // the library says that it will not go on
	silent  = "silent"  // no watch is open, and nothing was asked for during longestDelay
	stale   = "stale"   // it goes on asking, or watching
)

// longestDelay is longer than any pause that these libraries make between two requests.
const longestPause = 75 * time.Second

// patienceToSync is how long a client may take to start and to list.
const patienceToSync = 3 * time.Minute

// play starts a server and a client, and returns what the fault did to it. An error says that the
// trial shows nothing.
//
// It puts something into starts until a slow client has begun to ask.
func (t *trial) play(ctx context.Context, starts chan struct{}) (r result, err error) {
	r = result{Client: t.client.name, Fault: t.fault.name, Run: t.run}
	if r.Release, err = t.client.program.release(t.home); err != nil {
		return r, err
	}
	if t.world, err = newWorld(); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, t.server.Close()) }()
	dir, err := os.MkdirTemp("", "peers-")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	listener, err := t.server.ListenTLS("127.0.0.1:0") //nolint:contextcheck // Close ends it
	if err != nil {
		return r, err
	}
	kubeconfig, err := writeKubeconfig(dir, listener.URL, listener.CA)
	if err != nil {
		return r, err
	}

	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	release := func() {}
	if t.client.program.slow {
		select {
		case starts <- struct{}{}:
		case <-ctx.Done():
			return r, ctx.Err()
		}
		release = sync.OnceFunc(func() { <-starts })
		defer release()
	}
	if t.fault.atStart {
		if err := t.strike(ctx); err != nil {
			return r, err
		}
	}
	if err := t.launch(ctx, kubeconfig, &running); err != nil {
		return r, err
	}
	beats := make(chan error, 1)
	running.Go(func() { beats <- t.keepBeating(ctx) })
	asked := t.awaitRequest(ctx)
	release()
	if t.fault.atStart {
		if t.fault.since == sinceAsked {
			t.over = asked
		}
	} else {
		if _, ok := t.await(ctx, asked, patienceToSync, 3*time.Second); !ok {
			return r, fmt.Errorf("the client did not sync: it printed %q, and on stderr %s", t.lastLine(), t.said)
		}
		if err := t.strike(ctx); err != nil {
			return r, err
		}
	}
	at, ok := t.await(ctx, t.over, t.fault.patience, steady)
	if ctx.Err() != nil {
		return r, ctx.Err()
	}
	select {
	case err := <-beats:
		return r, fmt.Errorf("write to the server: %w", err)
	default:
	}
	t.conclude(&r, at, ok)
	return r, nil
}

func (t *trial) strike(ctx context.Context) error {
	t.begun = time.Now()
	if err := doAll(ctx, t, t.fault.steps); err != nil {
		return fmt.Errorf("the fault itself: %w", err)
	}
	if t.over.IsZero() {
		t.over = time.Now()
	}
	return nil
}

func (t *trial) conclude(r *result, at time.Time, ok bool) {
	now := time.Now()
	t.out.Lock()
	defer t.out.Unlock()
	open, proto := t.log.watches()
	r.Proto, r.Said = proto, string(t.said)
	if ok {
		r.Seconds = at.Sub(t.over).Seconds()
		r.Requests = t.log.between(t.begun, at)
		return
	}
	r.Requests = t.log.between(t.begun, now)
	r.Patience = t.fault.patience.Seconds()
	switch {
	case t.exited:
		r.Stale = died
		r.Said += "\n" + t.exit
	case t.stop != "":
		r.Stale = stopped
		r.Said += "\n" + t.stop
	case open == 0 && t.log.between(now.Add(-longestPause), now) == 0:
		r.Stale = silent
	default:
		r.Stale = stale
	}
}

// await waits until the client follows the server from a moment on, and for so long. Nobody waits
// for a client that has ended.
func (t *trial) await(ctx context.Context, from time.Time, patience, d time.Duration) (at time.Time, ok bool) {
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	for {
		now := time.Now()
		t.out.Lock()
		lines, exited := t.lines[:len(t.lines):len(t.lines)], t.exited
		t.out.Unlock()
		if at, ok := followed(t.history(), lines, from, now, d); ok {
			return at, true
		}
		if exited || now.Sub(from) > patience+d {
			return at, false
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return at, false
		}
	}
}

// awaitRequest returns when the first request began, or the time when none has come for long.
func (t *trial) awaitRequest(ctx context.Context) time.Time {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for until := time.Now().Add(patienceToSync); ; {
		if at, ok := t.log.first(); ok {
			return at
		}
		select {
		case now := <-ticker.C:
			t.out.Lock()
			exited := t.exited
			t.out.Unlock()
			if exited || now.After(until) {
				return now
			}
		case <-ctx.Done():
			return time.Now()
		}
	}
}

// keepBeating writes once a second.
func (t *trial) keepBeating(ctx context.Context) error {
	ticker := time.NewTicker(beatPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
		if err := t.beat(); err != nil {
			return err
		}
	}
}

// launch starts the client, and what listens to it.
func (t *trial) launch(ctx context.Context, kubeconfig string, running *sync.WaitGroup) error {
	cmd, err := t.client.start(ctx, t.home, kubeconfig, t.fault.json)
	if err != nil {
		return err
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	reader, writer := io.Pipe()
	cmd.Stdout, cmd.Stderr = writer, t
	if err := cmd.Start(); err != nil {
		return err
	}
	running.Go(func() { t.listen(reader) })
	running.Go(func() {
		err := cmd.Wait()
		_ = writer.Close() // never fails
		t.out.Lock()
		defer t.out.Unlock()
		t.exited, t.exit = true, "exit status 0"
		if err != nil {
			t.exit = err.Error()
		}
	})
	return nil
}

// listen reads what the client prints.
func (t *trial) listen(r io.Reader) {
	for s := bufio.NewScanner(r); s.Scan(); {
		t.out.Lock()
		if strings.HasPrefix(s.Text(), "stopped") {
			t.stop = s.Text()
		} else {
			t.lines = append(t.lines, shown{time.Now(), s.Text()})
		}
		t.out.Unlock()
	}
}

// Write keeps the last that the client has to say on stderr.
func (t *trial) Write(b []byte) (int, error) {
	const most = 2000
	t.out.Lock()
	defer t.out.Unlock()
	t.said = append(t.said, b[max(0, len(b)-most):]...)
	t.said = t.said[max(0, len(t.said)-most):]
	return len(b), nil
}

func (t *trial) lastLine() string {
	t.out.Lock()
	defer t.out.Unlock()
	if len(t.lines) == 0 {
		return ""
	}
	return t.lines[len(t.lines)-1].line
}

// writeKubeconfig writes a kubeconfig without credentials: the server asks for none.
func writeKubeconfig(dir, url string, ca []byte) (string, error) {
	authority, file := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "kubeconfig")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: peers, cluster: {server: %q, certificate-authority: %q}}]
users: [{name: peers, user: {}}]
contexts: [{name: peers, context: {cluster: peers, user: peers}}]
current-context: peers
`, url, authority)
	return file, errors.Join(os.WriteFile(authority, ca, 0o600), os.WriteFile(file, []byte(text), 0o600))
}
