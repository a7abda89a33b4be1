package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/relist-go/relist/test/bench/cases"
	"github.com/relist-go/relist/test/bench/process"
)

type bench struct {
	pods, rate, changes, each, together int

	load string // the program
}

// build builds the load server.
func (b *bench) build(ctx context.Context) (remove func(), err error) {
	dir, err := os.MkdirTemp("", "relaybench")
	if err != nil {
		return nil, err
	}
	b.load = filepath.Join(dir, "load")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", b.load, "./cmd/load")
	cmd.Stderr = os.Stderr
	return func() { _ = os.RemoveAll(dir) }, cmd.Run()
}

// number is a Post whose answer is a number.
func number(ctx context.Context, url string) (float64, error) {
	text, err := cases.Post(ctx, url)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(text, 64)
}

func (b *bench) measure(ctx context.Context, relayed bool, kinds []readers) (m measured, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // it ends what an error has left running
	server, err := process.Start(ctx, b.load, "-http2", "-pods="+strconv.Itoa(b.pods))
	if err != nil {
		return m, err
	}
	serverURL, err := server.Ready()
	if err != nil {
		return m, err
	}
	front := serverURL
	var relay *process.Process
	if relayed {
		if relay, err = process.Start(ctx, os.Args[0], "relay", "-server="+serverURL); err != nil {
			return m, err
		}
		if front, err = relay.Ready(); err != nil {
			return m, err
		}
	}
	used := func() (u usage, err error) {
		if relay == nil {
			return u, nil
		}
		text, err := cases.Post(ctx, front+"/bench/usage")
		if err == nil {
			err = json.Unmarshal([]byte(text), &u)
		}
		return u, err
	}
	all, err := b.start(ctx, front, kinds)
	if err != nil {
		return m, err
	}
	before, err := number(ctx, serverURL+"/bench/sent?count=0")
	if err != nil {
		return m, err
	}
	cpu, err := used()
	if err != nil {
		return m, err
	}
	begin := time.Now()
	newest, err := cases.Post(ctx, fmt.Sprintf("%s/bench/change?count=%d&rate=%d", serverURL, b.changes, b.rate))
	if err != nil {
		return m, err
	}
	m.lags = map[string][]time.Duration{}
	took := time.Since(begin).Seconds()
	end, err := used()
	if err != nil {
		return m, err
	}
	after, err := number(ctx, serverURL+"/bench/sent?count=0")
	if err != nil {
		return m, err
	}
	watches, err := number(ctx, serverURL+"/bench/watches?count=0")
	if err != nil {
		return m, err
	}
	m.watches, m.first, m.steady = int(watches), before, (after-before)/took
	if relayed {
		m.taken = &taken{cpu.CPU, (end.CPU - cpu.CPU) / took, end.Resident, end.Heap, end.Goroutines}
	}
	for i, kind := range kinds {
		for _, p := range all[i] {
			var lags []time.Duration
			if err := p.End(newest+"\n", &lags); err != nil {
				return m, fmt.Errorf("%s: %w", kind.kind, err)
			}
			m.lags[kind.kind] = append(m.lags[kind.kind], lags...)
		}
	}
	if relayed {
		err = relay.End("", nil)
	}
	return m, errors.Join(err, server.End("", nil))
}

// start starts the processes of readers, and waits until all have their first state.
func (b *bench) start(ctx context.Context, front string, kinds []readers) (all [][]*process.Process, err error) {
	for _, kind := range kinds {
		var same []*process.Process
		for first := 0; first < kind.count; first += b.together {
			p, err := process.Start(ctx, os.Args[0], "readers", "-server="+front, "-kind="+kind.kind,
				"-first="+strconv.Itoa(first), "-count="+strconv.Itoa(min(b.together, kind.count-first)))
			if err != nil {
				return nil, err
			}
			same = append(same, p)
		}
		all = append(all, same)
	}
	for _, same := range all {
		for _, p := range same {
			if _, err := p.Ready(); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}
