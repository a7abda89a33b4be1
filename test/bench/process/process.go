// Package process runs programs that end when their standard input does.
package process

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// A Process prints a line when it is ready, and perhaps one at its end. It ends at once if the
// context of Start ends.
type Process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// Start starts a program, which shares the standard error of this one.
func Start(ctx context.Context, program string, args ...string) (*Process, error) {
	p := &Process{cmd: exec.CommandContext(ctx, program, args...)}
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.out = in, bufio.NewReader(out)
	return p, p.cmd.Start()
}

// Ready waits for the first line, and returns it.
func (p *Process) Ready() (line string, err error) {
	line, err = p.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("%s did not begin: %w", p.cmd, err)
	}
	return strings.TrimSpace(line), nil
}

// End writes a last line, ends the process, and decodes the JSON that it prints then, unless into
// is nil.
func (p *Process) End(last string, into any) error {
	_, err := io.WriteString(p.in, last)
	err = errors.Join(err, p.in.Close())
	said, readErr := io.ReadAll(p.out)
	err = errors.Join(err, readErr, p.cmd.Wait())
	if err == nil && into != nil {
		err = json.Unmarshal(said, into)
	}
	return err
}
