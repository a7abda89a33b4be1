package usage

import (
	"runtime"
	"testing"
)

func TestNow(t *testing.T) {
	u := Now()
	if runtime.GOOS == "windows" {
		return // documented as zero
	}
	if u.CPU <= 0 || u.PeakRSS < 1<<20 {
		t.Errorf("Now() = %+v: want some CPU time and at least 1 MiB", u)
	}
	if later := Now(); later.CPU < u.CPU || later.PeakRSS < u.PeakRSS {
		t.Errorf("usage went down: %+v, then %+v", u, later)
	}
}
