package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"github.com/relist-go/relist/test/internal/child"
)

// process is one run of a program, in a process group of its own so that an
// interrupt typed at a terminal does not reach it before its owner decides.
type process struct {
	name string
	cmd  *exec.Cmd
	done chan struct{} // closed when the program has ended
	err  error         // how it ended; set before done is closed
}

// startProcess runs a program whose output is appended to a log file.
//
// One goroutine starts the program, waits for it, and keeps its thread meanwhile: on
// Linux the program is killed when the thread that started it ends, and a Go
// process may end any thread that is not locked.
func startProcess(path, logFile string, args []string) (*process, error) {
	out, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	p := &process{name: path, cmd: exec.Command(path, args...), done: make(chan struct{})} //nolint:noctx // it outlives the call that starts it; stop ends it
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = child.Attributes()

	started := make(chan error, 1)
	go func() {
		defer close(p.done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
		}
		p.err = errors.Join(p.err, out.Close())
	}()
	if err := <-started; err != nil {
		<-p.done
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	return p, nil
}

// kill ends the process group with SIGKILL and returns when it has ended. A process that has ended
// is no error.
func (p *process) kill() error {
	select {
	case <-p.done:
		return nil
	default:
	}
	if err := syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("kill %s: %w", p.name, err)
	}
	<-p.done
	return nil
}

// ended returns nil while the program runs, and then an error that says how it ended.
func (p *process) ended() error {
	select {
	case <-p.done:
		return fmt.Errorf("%s has ended: %w", p.name, cmp.Or(p.err, errors.New("exit status 0")))
	default:
		return nil
	}
}

// tail returns the last n lines of a file, or why it cannot.
func tail(file string, n int) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
