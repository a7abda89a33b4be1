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

// Sockets returns 0, because this system does not show them.
func Sockets() int { return 0 }

// ProcessesCPU returns 0, because this system does not show it.
func ProcessesCPU(int) time.Duration { return 0 }
