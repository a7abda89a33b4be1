//go:build !linux

package measure

import "runtime"

// memory is what the Go runtime has from the system: other systems than Linux do not
// let a process forget its peak.
func memory() residency {
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	return residency{resident: now.Sys - now.HeapReleased, peak: now.Sys}
}

func resetPeak() {}
