//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// statusSignals returns the signals that ask for the status, until stop. Two signals
// at the same time count as one.
func statusSignals() (signals <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	return c, func() { signal.Stop(c) }
}
