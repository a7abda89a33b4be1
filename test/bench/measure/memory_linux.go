package measure

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

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

// tick is the unit of times in /proc on every architecture that Go has.
// Source: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
const tick = time.Second / 100

// ProcessesCPU is the time that a process and its children have spent. Children that have ended
// count as well.
func ProcessesCPU(pid int) time.Duration {
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is right
	var total time.Duration
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has just ended
		}
		// The name of the program stands in brackets, and may have spaces in it. The state is the
		// next field, number 3.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		number := func(field int) int64 {
			n, _ := strconv.ParseInt(fields[field-3], 10, 64) // the kernel has written it
			return n
		}
		if file == fmt.Sprintf("/proc/%d/stat", pid) || number(4) == int64(pid) {
			total += time.Duration(number(14)+number(15)+number(16)+number(17)) * tick
		}
	}
	return total
}
