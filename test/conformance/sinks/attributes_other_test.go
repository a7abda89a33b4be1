//go:build unix && !linux

package sinks

import "syscall"

// processAttributes gives a process its own group. Outside Linux nothing ends it when this process is killed.
func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
