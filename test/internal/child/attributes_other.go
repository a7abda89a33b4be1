//go:build unix && !linux

package child

import "syscall"

// Attributes gives a program a process group of its own. Outside Linux nothing ends it when the
// process that started it is killed.
func Attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
