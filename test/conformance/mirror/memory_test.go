package mirror

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/internal/podlist"
	"github.com/relist-go/relist/test/conformance/command"
)

const (
	pods     = 20000
	patience = 2 * time.Minute // spent only when the test fails
)

// TestMemory mirrors 20,000 Pods as a kube-apiserver sent them, and compares the
// most memory that was used on the way with what is used in the end.
func TestMemory(t *testing.T) {
	s := apitest.New(apitest.Options{})
	fillPods(t, s)
	listener, err := s.Listen("127.0.0.1:0")
	must.OK(t, err)
	defer s.Close()

	for i, output := range []string{"none", "json"} {
		// Both commands run until the test ends, so that the second one's watch is the second.
		pid := command.StartMirror(t, "pods", "-A", "-o", output, "--server", listener.URL).PID()
		awaitWatches(t, s, i+1)
		idle(t, pid)
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		must.OK(t, err)
		resident, peak := field(t, status, "VmRSS"), field(t, status, "VmHWM")
		t.Logf("-o %s: %d pods: RSS after sync %d MB, peak %d MB, ratio %.2f, %.2f s of CPU",
			output, pods, resident>>10, peak>>10, float64(peak)/float64(resident), cpu(t, pid).Seconds())
		if resident < 50<<10 {
			t.Errorf("-o %s: RSS is %d KB: the pods are not there", output, resident)
		}
		if 2*peak > 3*resident {
			t.Errorf("-o %s: peak RSS is %d KB, more than 1.5 times the %d KB after sync", output, peak, resident)
		}
	}
}

// awaitWatches waits until so many commands have read the whole list, and watch.
func awaitWatches(t *testing.T, s *apitest.Server, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	must.OK(t, s.WaitForWatches(ctx, "pods", n))
}

// idle waits until a process that has read its list does nothing any more.
func idle(t *testing.T, pid int) {
	t.Helper()
	const quiet = 500 * time.Millisecond
	before := cpu(t, pid)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		<-time.After(quiet)
		now := cpu(t, pid)
		if now-before <= quiet/50 {
			return
		}
		before = now
	}
	t.Fatalf("process %d is busy after %v", pid, patience)
}

// cpu returns the CPU time that a process has used, in the kernel's ticks of 10 ms.
func cpu(t *testing.T, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	must.OK(t, err)
	_, rest, _ := strings.Cut(string(stat), ") ") // the name before may have spaces
	fields := strings.Fields(rest)
	var ticks int
	for _, f := range fields[11:13] { // utime and stime
		n, err := strconv.Atoi(f)
		must.OK(t, err)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// fillPods stores the pods of the sample again and again, under unique names.
func fillPods(t *testing.T, s *apitest.Server) {
	t.Helper()
	items := podlist.Items(t)
	for i := range pods {
		var pod map[string]any
		must.OK(t, json.Unmarshal(items[i%len(items)], &pod))
		metadata := pod["metadata"].(map[string]any)
		metadata["name"] = fmt.Sprintf("%s-%05d", metadata["name"], i)
		delete(metadata, "uid")
		delete(metadata, "resourceVersion")
		_, err := s.Create("pods", pod)
		must.OK(t, err)
	}
}

// field returns a number of /proc/PID/status, in KB.
func field(t *testing.T, status []byte, name string) int {
	t.Helper()
	for l := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(l, name+":"); ok {
			n, err := strconv.Atoi(strings.Fields(value)[0])
			must.OK(t, err)
			return n
		}
	}
	t.Fatalf("no %s in /proc/PID/status", name)
	return 0
}
