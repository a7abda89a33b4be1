//go:build !linux

package measure

import (
	"runtime"
	"time"
)

// ThreadCPU is the time of all threads: other systems than Linux do not tell that of one.
func ThreadCPU() time.Duration { return ProcessCPU() }

// memory is what the Go runtime has from the system: other systems than Linux do not
// let a process forget its peak.
func memory() residency {
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	return residency{resident: now.Sys - now.HeapReleased, peak: now.Sys}
}

func resetPeak() {}
