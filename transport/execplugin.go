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
	return p.fetch(ctx, func(o *execOutcome, now time.Time) fitness {
		switch {
		case o.err == nil && (o.expires.IsZero() || now.Before(o.expires)):
			return fit
		case now.Sub(o.at) < execAge:
			return fit
		}
		return unfit
	})
}

// renew returns another credential than the refused one if there is one already, and
// that of a run if not. It waits for the time of that run if what was refused is known to
// have expired: a program that was asked shortly before its next credential was there had
// nothing else to give.
func (p *execPlugin) renew(ctx context.Context, refused credential) (credential, error) {
	c, err := p.fetch(ctx, func(o *execOutcome, now time.Time) fitness {
		switch {
		case o.err == nil && o.credential != refused:
			return fit
		case now.Sub(o.at) >= execAge:
			return unfit
		case o.err == nil && !o.expires.IsZero() && !now.Before(o.expires):
			return tooYoung
		}
		return fit // the same, or the error: there is nothing else
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
				select {
				case <-time.After(o.at.Add(execAge).Sub(now)):
					continue
				case <-ctx.Done():
					return credential{}, context.Cause(ctx)
				}
			case unfit:
			}
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
