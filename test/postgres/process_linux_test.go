package check

import "syscall"

// processAttr is how a server runs. It ends with the tests, even if they are killed.
func processAttr(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Credential: as}
}
