package measure

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
	"time"
)

// ThreadCPU is the time that the calling thread has spent.
func ThreadCPU() time.Duration { return cpuOf(syscall.RUSAGE_THREAD) }

// memory reads VmHWM and VmRSS, because ru_maxrss begins with the size of the process that started
// this one. Source: https://man7.org/linux/man-pages/man5/proc_pid_status.5.html
func memory() residency {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic("measure: " + err.Error()) // unreachable: Linux has it
	}
	field := func(name string) (kib uint64) {
		_, rest, _ := bytes.Cut(status, []byte("\n"+name+":"))
		_, _ = fmt.Fscan(bytes.NewReader(rest), &kib)
		return kib * 1024
	}
	return residency{resident: field("VmRSS"), peak: field("VmHWM")}
}

// resetPeak forgets the peak.
// Source: https://man7.org/linux/man-pages/man5/proc_pid_clear_refs.5.html
func resetPeak() {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		fmt.Fprintln(os.Stderr, "measure: the peak includes what came before:", err)
	}
}
