package cluster

import "syscall"

// processAttributes has the kernel kill the program when this process dies, even by SIGKILL.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
