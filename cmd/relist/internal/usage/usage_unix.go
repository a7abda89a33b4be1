//go:build unix

package usage

import (
	"runtime"
	"syscall"
	"time"
)

func now() Usage {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return Usage{}
	}
	u := Usage{
		CPU:     time.Duration(r.Utime.Nano() + r.Stime.Nano()),
		PeakRSS: int64(r.Maxrss), //nolint:unconvert // its type depends on the system
	}
	// KiB everywhere but on Apple's systems.
	if runtime.GOOS != "darwin" && runtime.GOOS != "ios" {
		u.PeakRSS *= 1024
	}
	if peak := peakRSS(); peak > 0 {
		u.PeakRSS = peak
	}
	return u
}
