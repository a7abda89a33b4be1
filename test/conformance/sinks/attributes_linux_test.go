package sinks

import "syscall"

// processAttributes has the kernel kill a process when this one ends, even if that is killed.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
