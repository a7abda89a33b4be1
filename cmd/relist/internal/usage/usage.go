// Package usage tells what the process has used so far.
package usage

import "time"

// Usage is what the process has used since it began. A field is zero where the system
// does not say.
type Usage struct {
	CPU     time.Duration // user and system
	PeakRSS int64         // bytes
}
