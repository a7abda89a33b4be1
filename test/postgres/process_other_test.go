//go:build unix && !linux

package check

import "syscall"

// processAttr is how a server runs.
func processAttr(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: as}
}
