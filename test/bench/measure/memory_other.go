//go:build !linux

package measure

import (
	"runtime"
	"time"
)

// memory is what the Go runtime has from the system: other systems than Linux do not
// let a process forget its peak.
func memory() residency {
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	return residency{resident: now.Sys - now.HeapReleased, peak: now.Sys}
}

func resetPeak() {}

// ProcessesCPU returns 0, because this system does not show it.
func ProcessesCPU(int) time.Duration { return 0 }
