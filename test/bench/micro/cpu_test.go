package micro

import (
	"syscall"
	"testing"
)

// reportCPU adds the CPU time of the process for each operation, garbage collection
// included, which a busy machine changes less than the time by the clock. It is called
// first, and what it returns when the loop is over.
func reportCPU(b *testing.B) (stop func()) {
	begin := cpu(b)
	return func() {
		b.ReportMetric(float64(cpu(b)-begin)/float64(b.N), "cpu-ns/op")
	}
}

func cpu(b *testing.B) int64 {
	var usage syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return usage.Utime.Nano() + usage.Stime.Nano()
}
