package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"time"
)

// execAge is how long the outcome of a run stands at least, whatever it is. A program
// whose credentials expire at once, or are refused, or that fails, is not run for each
// request of many.
const execAge = time.Second

// execPlugin keeps the credential that a program gives, and runs the program when
// there is none, once at a time for all requests that need it.
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

// execRun is one run of the program, for everybody who waits for it. It is stopped
// when nobody does any more.
type execRun struct {
	cancel  context.CancelFunc
	done    chan struct{} // closed when outcome is there, and the program is gone
	outcome execOutcome   // read-only once done

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
	return p.fetch(ctx, func(o *execOutcome, now time.Time) bool {
		return o.err == nil && (o.expires.IsZero() || now.Before(o.expires))
	})
}

// renew returns another credential than the refused one if there is one already, and
// that of a run if not.
func (p *execPlugin) renew(ctx context.Context, refused credential) (credential, error) {
	c, err := p.fetch(ctx, func(o *execOutcome, _ time.Time) bool {
		return o.err == nil && o.credential != refused
	})
	if err != nil {
		return c, fmt.Errorf("a new credential cannot be had: %w", err)
	}
	return c, nil
}

// certificate returns the client certificate of the last credential, nil for none. A
// run that fails does not take it away.
func (p *execPlugin) certificate() *tls.Certificate {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cert
}

// fetch returns the last outcome if it will do, or else that of a run.
func (p *execPlugin) fetch(ctx context.Context, willDo func(*execOutcome, time.Time) bool) (credential, error) {
	for {
		p.mu.Lock()
		now := time.Now()
		if o := p.last; o != nil && (now.Sub(o.at) < execAge || willDo(o, now)) {
			p.mu.Unlock()
			return o.credential, o.err
		}
		r := p.running
		if r == nil {
			r = p.start(ctx)
		}
		if r.abandoned { // it is being stopped: the next one begins after it
			p.mu.Unlock()
			select {
			case <-r.done:
				continue
			case <-ctx.Done():
				return credential{}, context.Cause(ctx)
			}
		}
		r.waiters++
		p.mu.Unlock()
		select {
		case <-r.done:
			return r.outcome.credential, r.outcome.err
		case <-ctx.Done():
			p.leave(r)
			return credential{}, context.Cause(ctx)
		}
	}
}

// start begins a run. It does not end with ctx, which is that of the first who waits
// for it, but with the last; until then it is theirs, and they see it end.
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

// finish keeps the outcome of a run.
func (p *execPlugin) finish(r *execRun, outcome execOutcome, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	outcome.at, outcome.err = time.Now(), err
	if outcome.pair != nil && bytes.Equal(outcome.pair, p.pair) {
		outcome.credential.cert = p.cert // what is the same stays the same
	}
	if err == nil {
		p.cert, p.pair = outcome.credential.cert, outcome.pair
	}
	r.outcome, p.running = outcome, nil
	if !r.abandoned || err == nil {
		p.last = &outcome // that it was stopped is no outcome
	}
}
