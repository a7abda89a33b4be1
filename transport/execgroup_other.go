//go:build !unix

package transport

import "os/exec"

// inGroup does nothing: a program that cmd has started may outlive it.
func inGroup(*exec.Cmd) {}
