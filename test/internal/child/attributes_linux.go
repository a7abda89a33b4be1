package child

import "syscall"

// Attributes has the kernel kill a program when the process that started it ends, even if that is
// killed. The program has a process group of its own, so that an interrupt typed at a terminal does
// not reach it.
func Attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
