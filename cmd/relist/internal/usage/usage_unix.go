//go:build unix

package usage

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// Now returns the usage so far.
func Now() Usage {
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

// peakRSS reads VmHWM. On Linux ru_maxrss includes what the process was before exec, a copy of its
// parent: started by a large program, a small one looks large. Other systems have no such file, and
// nothing better than ru_maxrss. Source:
// https://man7.org/linux/man-pages/man5/proc_pid_status.5.html
func peakRSS() int64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(data) {
		value, ok := bytes.CutPrefix(line, []byte("VmHWM:"))
		if !ok {
			continue
		}
		kib, err := strconv.ParseInt(string(bytes.TrimSuffix(bytes.TrimSpace(value), []byte(" kB"))), 10, 64)
		if err != nil {
			return 0
		}
		return kib * 1024
	}
	return 0
}
