package usage

import (
	"bytes"
	"os"
	"strconv"
)

// peakRSS reads VmHWM. On Linux ru_maxrss includes what the process was before exec,
// a copy of its parent: started by a large program, a small one looks large.
// Source: https://man7.org/linux/man-pages/man5/proc_pid_status.5.html
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
