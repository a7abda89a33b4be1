package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"
)

const (
	// maxExecOutput is more than any certificate and token need.
	maxExecOutput = 1 << 20

	// execPatience is how long the output and the messages of a program are waited for that
	// has ended, but left another one behind to which they belong, too.
	execPatience = time.Second
)

// run runs the program once and returns its credential. It is killed when ctx ends.
func (p *execPlugin) run(ctx context.Context) (execOutcome, error) {
	out, err := p.output(ctx)
	if ctx.Err() != nil {
		return execOutcome{}, context.Cause(ctx)
	}
	if err != nil {
		return execOutcome{}, fmt.Errorf("run %s to get a credential: %w", p.name(), err)
	}
	outcome, err := parseExecCredential(out, p.cfg.APIVersion)
	if err != nil {
		return outcome, fmt.Errorf("run %s to get a credential: %w", p.name(), err)
	}
	return outcome, nil
}

// name is what errors call the program: its arguments may hold a secret.
func (p *execPlugin) name() string { return filepath.Base(p.cfg.Command) }

// output returns what the program printed on its standard output.
func (p *execPlugin) output(ctx context.Context) ([]byte, error) {
	interactive := p.cfg.InteractiveMode != InteractiveNever && p.isTerminal()
	if p.cfg.InteractiveMode == InteractiveAlways && !interactive {
		return nil, errors.New("it has to ask the user something (interactiveMode is Always), and the standard input is not a terminal")
	}
	info, err := p.info(interactive)
	if err != nil {
		return nil, err
	}
	// A pipe of our own, rather than a Buffer: nothing waits for it once ctx has ended,
	// whoever else the program has handed its standard output to.
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = read.Close() }()
	cmd := exec.CommandContext(ctx, p.cfg.Command, p.cfg.Args...) //nolint:gosec // the user names the program
	cmd.Env = append(append(os.Environ(), p.cfg.Env...), "KUBERNETES_EXEC_INFO="+info)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = write, p.cfg.Stderr, execPatience
	if interactive {
		cmd.Stdin = os.Stdin
	}
	err = cmd.Start()
	_ = write.Close() // the program has it
	if err != nil {
		return nil, p.explain(err)
	}
	hangUp := func() { _ = read.Close() }
	defer context.AfterFunc(ctx, hangUp)()
	var out []byte
	var readErr error
	all := make(chan struct{})
	go func() {
		defer close(all)
		out, readErr = io.ReadAll(io.LimitReader(read, maxExecOutput+1))
		if len(out) > maxExecOutput {
			_ = cmd.Process.Kill() // it need not mind that nobody reads
		}
	}()
	err = cmd.Wait()
	defer time.AfterFunc(execPatience, hangUp).Stop()
	<-all
	switch {
	case len(out) > maxExecOutput:
		return nil, fmt.Errorf("it prints more than %d bytes", maxExecOutput)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return nil, fmt.Errorf("%w (what it said is on the standard error)", err)
	case errors.Is(readErr, os.ErrClosed):
		return out, nil // all that it has printed itself
	}
	return out, readErr
}

// explain says what to do about a program that cannot be started.
func (p *execPlugin) explain(err error) error {
	if !errors.Is(err, exec.ErrNotFound) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// A hint may have paragraphs, but no business with the terminal.
	hint := strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, p.cfg.InstallHint))
	if hint == "" {
		hint = "install it, or check the command and PATH"
	}
	return fmt.Errorf("%w: %s", err, hint)
}

// info is what the program is told.
func (p *execPlugin) info(interactive bool) (string, error) {
	spec := execSpec{Interactive: interactive}
	if p.cfg.ProvideClusterInfo {
		cluster := p.cluster
		ca, err := fileOrData("TLS.CAFile", p.caFile, cluster.CAData)
		if err != nil {
			return "", err
		}
		cluster.CAData, cluster.Config = ca, p.cfg.ClusterConfig
		spec.Cluster = &cluster
	}
	return execInfo(p.cfg.APIVersion, spec)
}

// stdinIsTerminal reports whether somebody can be asked.
func stdinIsTerminal() bool { return term.IsTerminal(int(os.Stdin.Fd())) } //nolint:gosec // a file descriptor is an int
