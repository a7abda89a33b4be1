package transport

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// ExecConfig is a program that is run to get a credential: it prints an ExecCredential, with a
// token, a client certificate, or both. The credential is used until the expiry that the program
// names, or until the server refuses it by 401. Then the program is run again: once for all
// requests that wait for it, and at most once a second. If the program fails, its error is that of
// all requests for 1, 4, 15 and from then on 30 seconds, because it may open a window for each try.
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
type ExecConfig struct {
	// Command is the program: a path, or a name to be found in PATH.
	Command string

	// Args are its arguments. Env are variables in the form NAME=value, in addition to
	// those of this process and to KUBERNETES_EXEC_INFO, which says what is wanted.
	Args []string
	Env  []string

	// APIVersion is the version of ExecCredential that the program speaks:
	// client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1.
	// If empty, v1.
	APIVersion string

	// InstallHint is part of the error if there is no such program.
	InstallHint string

	// Interactive says whether the program may ask the user something. If nil, it is given the
	// standard input if that is a terminal. If false, it is given none. If true, it is an error if
	// the standard input is not a terminal.
	Interactive *bool

	// ProvideClusterInfo tells the program which server the credential is for, in
	// KUBERNETES_EXEC_INFO, and ClusterConfig (JSON) with it, if there is any.
	ProvideClusterInfo bool
	ClusterConfig      []byte

	// Stderr is where the program's messages go. If nil, to that of this process.
	// An *os.File is given to the program itself.
	Stderr io.Writer
}

// The versions of ExecCredential that are spoken here.
const (
	execV1      = "client.authentication.k8s.io/v1"
	execV1beta1 = "client.authentication.k8s.io/v1beta1"
)

// check returns the configuration with its defaults.
func (e ExecConfig) check() (ExecConfig, error) {
	e.APIVersion = cmp.Or(e.APIVersion, execV1)
	e.Stderr = cmp.Or[io.Writer](e.Stderr, os.Stderr)
	switch {
	case e.Command == "":
		return e, errors.New("the program of Exec has no Command")
	case e.APIVersion != execV1 && e.APIVersion != execV1beta1:
		return e, fmt.Errorf("the program of Exec speaks %q: want %s or %s; a newer release of %s may speak it", e.APIVersion, execV1, execV1beta1, e.Command)
	}
	for i, variable := range e.Env {
		if name, _, ok := strings.Cut(variable, "="); !ok || name == "" {
			return e, fmt.Errorf("Exec.Env[%d] is not of the form NAME=value", i) // it may be a secret
		}
	}
	return e, nil
}

// execAge is how long the outcome of a run is kept at least, whatever it is. So the
// program is not run for each of many requests if its credentials expire at once or are
// refused.
const execAge = time.Second

// execPause returns how long the outcome of a run is kept at least, by how many runs have failed in
// a row.
func execPause(failures int) time.Duration {
	delays := [...]time.Duration{execAge, execAge, 4 * time.Second, 15 * time.Second, 30 * time.Second}
	return delays[min(failures, len(delays)-1)]
}

// execPlugin keeps the credential that a program gives. Without a credential it runs the program.
// All requests that wait share one run.
type execPlugin struct {
	cfg        ExecConfig
	cluster    execCluster // without the CA of a file, which may change
	caFile     string
	isTerminal func() bool

	mu      sync.Mutex
	last    *execOutcome     // nil: none yet
	cert    *tls.Certificate // of the last credential there was; nil: none
	pair    []byte           // what it was made of
	running *execRun         // nil: no run
}

// execRun is one run of the program, for everybody who waits for it. It is stopped when
// nobody waits any more.
type execRun struct {
	cancel  context.CancelFunc
	done    chan struct{} // closed when outcome is there, and the program is gone
	outcome execOutcome   // read-only once done is closed

	// Guarded by the plugin's mu.
	waiters   int
	abandoned bool
}

func newExecPlugin(cfg Config) (*execPlugin, error) {
	if cfg.Exec == nil {
		return nil, nil
	}
	e, err := cfg.Exec.check()
	if err != nil {
		return nil, err
	}
	if len(cfg.TLS.CertData)+len(cfg.TLS.KeyData) > 0 || cfg.TLS.CertFile+cfg.TLS.KeyFile != "" {
		return nil, errors.New("both Exec and a client certificate are set: remove one of them")
	}
	p := &execPlugin{cfg: e, isTerminal: stdinIsTerminal, cluster: execCluster{
		Server:     cfg.Server,
		ServerName: cfg.TLS.ServerName,
		Insecure:   cfg.TLS.Insecure,
		CAData:     cfg.TLS.CAData,
		ProxyURL:   cfg.ProxyURL,
	}}
	p.caFile = cfg.TLS.CAFile
	return p, nil
}

// get returns the present credential, or that of a run.
func (p *execPlugin) get(ctx context.Context) (credential, error) {
	return p.fetch(ctx, func(o *execOutcome, now time.Time) fitness {
		switch {
		case o.err == nil && (o.expires.IsZero() || now.Before(o.expires)):
			return fit
		case now.Sub(o.at) < execPause(o.failures):
			return fit
		}
		return unfit
	})
}

// renew returns the credential that has replaced the refused one, or else that of a
// run. If the refused one is known to have expired, renew waits until a run is allowed:
// a program that was asked shortly before the expiry may have had nothing else to give.
func (p *execPlugin) renew(ctx context.Context, refused credential) (credential, error) {
	c, err := p.fetch(ctx, func(o *execOutcome, now time.Time) fitness {
		switch {
		case o.err == nil && o.credential != refused:
			return fit
		case now.Sub(o.at) >= execPause(o.failures):
			return unfit
		case o.err == nil && !o.expires.IsZero() && !now.Before(o.expires):
			return tooYoung
		}
		return fit // the same, or the error: there is nothing else
	})
	if err != nil {
		return c, fmt.Errorf("there is no new credential: %w", err)
	}
	return c, nil
}

// certificate returns the client certificate of the last credential, nil for none. A
// run that fails changes nothing.
func (p *execPlugin) certificate() *tls.Certificate {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cert
}

// fitness is what to do with the last outcome.
type fitness uint8

const (
	unfit    fitness = iota // run the program
	fit                     // return it
	tooYoung                // look again once it is execAge old
)

// fetch returns the last outcome if it is fit, or else that of a run.
func (p *execPlugin) fetch(ctx context.Context, judge func(*execOutcome, time.Time) fitness) (credential, error) {
	for {
		p.mu.Lock()
		if o, now := p.last, time.Now(); o != nil {
			switch judge(o, now) {
			case fit:
				p.mu.Unlock()
				return o.credential, o.err
			case tooYoung:
				p.mu.Unlock()
				if err := await(ctx, time.After(o.at.Add(execAge).Sub(now))); err != nil {
					return credential{}, err
				}
				continue
			case unfit:
			}
		}
		r := p.running
		if r == nil {
			r = p.start(ctx)
		}
		if r.abandoned { // it is being stopped: the next one begins after it
			p.mu.Unlock()
			if err := await(ctx, r.done); err != nil {
				return credential{}, err
			}
			continue
		}
		r.waiters++
		p.mu.Unlock()
		if err := await(ctx, r.done); err != nil {
			p.leave(r)
			return credential{}, err
		}
		return r.outcome.credential, r.outcome.err
	}
}

// await waits for ch, or returns why ctx has ended.
func await[T any](ctx context.Context, ch <-chan T) error {
	select {
	case <-ch:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// start begins a run. The run does not end with ctx, which is that of the first who
// waits for it, but with the last of all who wait.
func (p *execPlugin) start(ctx context.Context) *execRun {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r := &execRun{cancel: cancel, done: make(chan struct{})}
	p.running = r
	go func() {
		defer close(r.done)
		defer cancel()
		outcome, err := p.run(ctx)
		p.finish(r, outcome, err)
	}()
	return r
}

// leave is called by one who no longer waits. The last one stops the run.
func (p *execPlugin) leave(r *execRun) {
	p.mu.Lock()
	r.waiters--
	r.abandoned = r.waiters == 0
	last := r.abandoned
	p.mu.Unlock()
	if last {
		r.cancel()
		<-r.done
	}
}

func (p *execPlugin) finish(r *execRun, outcome execOutcome, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	outcome.at, outcome.err = time.Now(), err
	if outcome.pair != nil && bytes.Equal(outcome.pair, p.pair) {
		outcome.credential.cert = p.cert // the same certificate keeps its connections
	}
	if err != nil {
		outcome.failures = 1
		if p.last != nil {
			outcome.failures += p.last.failures
		}
	} else {
		p.cert, p.pair = outcome.credential.cert, outcome.pair
	}
	r.outcome, p.running = outcome, nil
	if !r.abandoned || err == nil {
		p.last = &outcome // a run that was stopped has none
	}
}
