//go:build unix && !linux

package cluster

import "syscall"

// processAttributes gives the program its own process group. Outside Linux
// nothing ends it when this process is killed.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// awaitStop returns at once: a program may go on for some milliseconds after it was paused.
func awaitStop(int) error { return nil }
