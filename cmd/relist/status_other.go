//go:build !unix

package main

import "os"

// statusSignals returns signals that never come: this system has no SIGUSR1.
func statusSignals() (signals <-chan os.Signal, stop func()) { return nil, func() {} }
