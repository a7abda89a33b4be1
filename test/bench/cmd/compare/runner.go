package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/relist-go/relist/test/bench/cases"
	"github.com/relist-go/relist/test/bench/measure"
	"github.com/relist-go/relist/test/bench/process"
)

// programs are compared. A ratio is the first program's value divided by that of another one.
var programs = [3]string{"relistbench", "clientgobench", nextClientGo}

// nextClientGo is clientgobench with the requirements of next.mod. It runs with its own defaults.
const nextClientGo = "clientgobench-next"

// copier is relist for the cases with a database, which makes it larger than the others.
const copier = "relistcopy"

// programsOf returns the programs of a case. Only relist has copies in databases.
func programsOf(c cases.Case) []string {
	if c.Copied {
		return []string{copier}
	}
	return programs[:]
}

// processors is the value of GOMAXPROCS for each program.
const processors = 2

// build builds the load server and the programs.
func build(ctx context.Context, bin string) error {
	run := func(args ...string) error {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		return cmd.Run()
	}
	return errors.Join(
		run("go", "build", "-o", bin+string(os.PathSeparator), "./cmd/load", "./cmd/relistbench", "./cmd/clientgobench", "./cmd/"+copier),
		// The next client-go cannot be built with an older Go.
		run("env", "GOTOOLCHAIN=go1.27.4", "go", "build", "-modfile=next.mod", "-o", filepath.Join(bin, nextClientGo), "./cmd/clientgobench"))
}

type runner struct {
	options
	bin string
}

// results are those of one case, by program, in the order in which they ran. The other programs
// have none if only relist runs.
type results [3][]measure.Result

func (r *runner) compare(ctx context.Context, c cases.Case) (results, error) {
	a := r.amount(c)
	if c.Busy {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		for range runtime.NumCPU() {
			go func() {
				for ctx.Err() == nil {
					runtime.Gosched() // takes a core from the programs, as other programs do
				}
			}()
		}
	}
	var all results
	for run := range r.runs {
		for i, program := range programsOf(c) {
			r.progress(c.Name, run, program)
			result, err := r.once(ctx, c, program, a, way{http2: c.HTTP2})
			if err != nil {
				return all, err
			}
			all[i] = append(all[i], result)
		}
	}
	return all, nil
}

func (r *runner) progress(name string, run int, what string) {
	fmt.Fprintf(os.Stderr, "%s: run %d of %d: %s\n", name, run+1, r.runs, what)
}

// amount has the numbers of objects and events of a run.
type amount struct{ objects, events int }

func (r *runner) amount(c cases.Case) amount {
	if r.smoke {
		return amount{c.SmokeObjects, c.SmokeEvents}
	}
	return amount{cmp.Or(r.objects, c.Objects), c.Events}
}

// once runs a program against a load server of its own.
func (r *runner) once(ctx context.Context, c cases.Case, program string, a amount, w way) (result measure.Result, err error) {
	server, err := process.Start(ctx, filepath.Join(r.bin, "load"),
		"-pods="+strconv.Itoa(a.objects), fmt.Sprintf("-http2=%t", w.http2), fmt.Sprintf("-gzip=%t", w.gzip))
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, server.End("", nil)) }()
	url, err := server.Ready()
	if err != nil {
		return result, err
	}
	return r.start(ctx, c, program, a, "-server="+url,
		fmt.Sprintf("-gzip=%t", w.gzip), fmt.Sprintf("-share-parts=%t", w.shareParts))
}

// start runs a program, with a database of its own if the case has one.
func (r *runner) start(ctx context.Context, c cases.Case, program string, a amount, flags ...string) (result measure.Result, err error) {
	args := append([]string{"-case=" + c.Name, "-objects=" + strconv.Itoa(a.objects), "-events=" + strconv.Itoa(a.events)}, flags...)
	if c.Copied {
		dir, err := os.MkdirTemp("", "bench-sqlite-")
		if err != nil {
			return result, err
		}
		defer func() { _ = os.RemoveAll(dir) }() // a temporary directory
		args = append(args, "-database="+filepath.Join(dir, "pods.db"))
	}
	if r.profile != "" {
		if err := os.MkdirAll(r.profile, 0o755); err != nil {
			return result, err
		}
		args = append(args, "-profile="+filepath.Join(r.profile, c.Name+"-"+program))
	}
	cmd := exec.CommandContext(ctx, filepath.Join(r.bin, program), args...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(processors))
	if program != nextClientGo && c.Spec.Initial == cases.ByList {
		cmd.Env = append(cmd.Env, "KUBE_FEATURE_WatchListClient=false") // the default of client-go is ByWatch
	}
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	if err := cmd.Run(); err != nil {
		return result, fmt.Errorf("%s: %w\n%s", program, err, messages.Bytes())
	}
	if err := json.Unmarshal(out.Bytes(), &result); err != nil {
		return result, fmt.Errorf("%s printed %q: %w", program, out.Bytes(), err)
	}
	return result, nil
}
