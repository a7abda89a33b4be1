package measure

import (
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
)

// MB is the unit of memory here, as in the tables of Kubernetes: 10^6 bytes.
const MB = 1e6

// A Meter runs from Start to Stop.
type Meter struct {
	begin  time.Time
	cpu    time.Duration
	memory runtime.MemStats
}

// Start returns a meter that runs.
func Start() *Meter {
	m := new(Meter)
	runtime.ReadMemStats(&m.memory)
	m.cpu = ProcessCPU()
	m.begin = time.Now()
	return m
}

// Stop sets CPU, wall, allocations and peak memory of the time since Start, and the live
// heap after a garbage collection, which comes after the measured time.
func (m *Meter) Stop(r *Result) (wall, cpu time.Duration) {
	wall = time.Since(m.begin)
	cpu = ProcessCPU() - m.cpu
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	peak := memory().peak
	r.Set(CPU, cpu.Seconds())
	r.Set(Wall, wall.Seconds())
	r.Set(PeakRSS, float64(peak)/MB)
	r.Set(LiveHeap, float64(HeapInUse())/MB)
	r.Set(Allocs, float64(now.Mallocs-m.memory.Mallocs)/1000)
	r.Set(AllocBytes, float64(now.TotalAlloc-m.memory.TotalAlloc)/MB)
	return wall, cpu
}

// Resident is the resident memory of the process, in bytes.
func Resident() uint64 { return memory().resident }

// HeapInUse collects garbage and returns the bytes that are left.
func HeapInUse() uint64 {
	// A second round, for what finalizers and pools held on to.
	runtime.GC()
	runtime.GC()
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	return now.HeapAlloc
}

// Settle collects garbage, gives free memory back, and forgets the peak. It returns the
// memory that is resident then.
func Settle() uint64 {
	debug.FreeOSMemory()
	resetPeak()
	return memory().resident
}

// ProcessCPU is the time that all threads have spent, in the program and in the kernel.
func ProcessCPU() time.Duration { return cpuOf(syscall.RUSAGE_SELF) }

func cpuOf(who int) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(who, &usage); err != nil {
		panic("measure: getrusage: " + err.Error()) // unreachable: both arguments are valid
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// residency is resident memory in bytes, now and at most.
type residency struct{ resident, peak uint64 }
