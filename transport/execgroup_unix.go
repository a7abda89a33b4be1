//go:build unix

package transport

import (
	"os/exec"
	"syscall"
)

// inGroup starts the programs that cmd starts in one group with it, so that they end with it if it
// is killed. A program that talks to the user stays in the group of this process: only one group
// may read from a terminal.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
