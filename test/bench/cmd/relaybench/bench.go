package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/relist-go/relist/test/bench/cases"
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

// A process is a program that ends when its input does. It prints a line when it is ready, and
// perhaps one at its end.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	ready string
}

func start(ctx context.Context, program string, args ...string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, program, args...)}
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.out = in, bufio.NewReaderSize(out, 1<<20)
	return p, p.cmd.Start()
}

// await waits for the line that says that the process is ready.
func (p *process) await() error {
	line, err := p.out.ReadString('\n')
	p.ready = strings.TrimSpace(line)
	if err != nil {
		return fmt.Errorf("%s did not begin: %w", p.cmd, err)
	}
	return nil
}

// end ends the process, and decodes what it says at its end.
func (p *process) end(last string, into any) error {
	_, err := io.WriteString(p.in, last)
	err = errors.Join(err, p.in.Close())
	said, readErr := io.ReadAll(p.out)
	err = errors.Join(err, readErr, p.cmd.Wait())
	if err == nil && into != nil {
		err = json.Unmarshal(said, into)
	}
	return err
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
	server, err := start(ctx, b.load, "-http2", "-pods="+strconv.Itoa(b.pods))
	if err != nil {
		return m, err
	}
	if err := server.await(); err != nil {
		return m, err
	}
	front := server.ready
	var relay *process
	if relayed {
		if relay, err = start(ctx, os.Args[0], "relay", "-server="+server.ready); err != nil {
			return m, err
		}
		if err := relay.await(); err != nil {
			return m, err
		}
		front = relay.ready
	}
	used := func() (u usage, err error) {
		if relay == nil {
			return u, nil
		}
		text, err := cases.Post(ctx, relay.ready+"/bench/usage")
		if err == nil {
			err = json.Unmarshal([]byte(text), &u)
		}
		return u, err
	}
	all, err := b.start(ctx, front, kinds)
	if err != nil {
		return m, err
	}
	before, err := number(ctx, server.ready+"/bench/sent?count=0")
	if err != nil {
		return m, err
	}
	cpu, err := used()
	if err != nil {
		return m, err
	}
	begin := time.Now()
	newest, err := cases.Post(ctx, fmt.Sprintf("%s/bench/change?count=%d&rate=%d", server.ready, b.changes, b.rate))
	if err != nil {
		return m, err
	}
	m.lags = map[string][]time.Duration{}
	took := time.Since(begin).Seconds()
	end, err := used()
	if err != nil {
		return m, err
	}
	after, err := number(ctx, server.ready+"/bench/sent?count=0")
	if err != nil {
		return m, err
	}
	watches, err := number(ctx, server.ready+"/bench/watches?count=0")
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
			if err := p.end(newest+"\n", &lags); err != nil {
				return m, fmt.Errorf("%s: %w", kind.kind, err)
			}
			m.lags[kind.kind] = append(m.lags[kind.kind], lags...)
		}
	}
	if relayed {
		err = relay.end("", nil)
	}
	return m, errors.Join(err, server.end("", nil))
}

// start starts the processes of readers, and waits until all have their first state.
func (b *bench) start(ctx context.Context, front string, kinds []readers) (all [][]*process, err error) {
	for _, kind := range kinds {
		var same []*process
		for first := 0; first < kind.count; first += b.together {
			p, err := start(ctx, os.Args[0], "readers", "-server="+front, "-kind="+kind.kind,
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
			if err := p.await(); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}
