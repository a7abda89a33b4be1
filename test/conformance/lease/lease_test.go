package lease

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/test/conformance/cluster"
	"github.com/relist-go/relist/test/internal/child"
)

var rounds = flag.Int("rounds", 5, "how often the leader is killed or stopped")

const keys = 4

// write is a write that the server has made.
type write struct {
	process  int
	lease    bool
	released bool
	key      string
	n        int       // what it counts
	version  int       // of the object
	began    time.Time // by the clock of the process, which is that of the test
	done     time.Time
}

// journal is a proxy in front of the server. It notes the writes.
type journal struct {
	url string

	mu   sync.Mutex
	all  []write
	more chan struct{} // closed when there is another write
}

func newJournal(t *testing.T, c *cluster.Cluster) *journal {
	t.Helper()
	client, err := c.Access().HTTPClient()
	must.OK(t, err)
	to, err := url.Parse(c.Access().URL)
	must.OK(t, err)
	j := &journal{more: make(chan struct{})}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Transport:     client.Transport,
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Header.Set("Authorization", "Bearer "+c.Access().AdminToken)
		},
		ModifyResponse: j.note,
		ErrorHandler:   func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }, // the program was killed
	})
	t.Cleanup(server.Close)
	j.url = server.URL
	return j
}

func (j *journal) note(resp *http.Response) error {
	if resp.Request.Method == http.MethodGet || resp.StatusCode >= http.StatusMultipleChoices {
		return nil
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	var obj struct {
		Metadata struct {
			Name            string `json:"name"`
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		Data map[string]string `json:"data"`
		Spec struct {
			Holder string `json:"holderIdentity"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(body, &obj); err != nil {
		return err
	}
	w := write{lease: strings.Contains(resp.Request.URL.Path, "/leases"), released: obj.Spec.Holder == "", key: obj.Metadata.Name, done: time.Now()}
	w.process, _ = strconv.Atoi(resp.Request.Header.Get("X-Process"))
	w.version, _ = strconv.Atoi(obj.Metadata.ResourceVersion)
	w.n, _ = strconv.Atoi(obj.Data["n"])
	began, _ := strconv.ParseInt(resp.Request.Header.Get("X-Began"), 10, 64)
	w.began = time.Unix(0, began)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.all = append(j.all, w)
	close(j.more)
	j.more = make(chan struct{})
	return nil
}

// await returns the first write after a number of writes for which is is true, and how many there
// are then.
func (j *journal) await(t *testing.T, after int, is func(write) bool) (write, int) {
	t.Helper()
	for over := time.After(time.Minute); ; {
		j.mu.Lock()
		for i := after; i < len(j.all); i++ {
			if is(j.all[i]) {
				defer j.mu.Unlock()
				return j.all[i], i + 1
			}
		}
		more := j.more
		j.mu.Unlock()
		select {
		case <-more:
		case <-over:
			t.Fatal("the write that was waited for has not come")
		}
	}
}

// program starts a process that counts.
func program(t *testing.T, server string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), serverVariable+"="+server)
	cmd.SysProcAttr = child.Attributes()
	if testing.Verbose() {
		cmd.Stderr = os.Stderr
	}
	must.OK(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// Whether the leader is killed or stopped, the other takes over; no number goes back, and no write
// begins after another process has the lease. Without the gate, a process that continues writes.
func TestTakeover(t *testing.T) {
	t.Run("with the gate", func(t *testing.T) {
		t.Parallel()
		if late := takeovers(t, true); late > 0 {
			t.Errorf("%d writes began after another process had the lease", late)
		}
	})
	t.Run("without the gate", func(t *testing.T) {
		t.Parallel()
		if late := takeovers(t, false); late == 0 {
			t.Error("no write began after another process had the lease: so the gate is not needed?")
		}
	})
}

func takeovers(t *testing.T, gate bool) (late int) {
	t.Helper()
	c := cluster.New(t, cluster.Options{})
	j := newJournal(t, c)
	for i := range keys {
		body := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c%d"},"data":{"n":"0"}}`, i)
		resp, err := http.Post(j.url+"/api/v1/namespaces/default/configmaps", "application/json", strings.NewReader(body)) //nolint:noctx // the test ends with the server
		must.OK(t, err)
		resp.Body.Close()
	}
	suffix := ""
	if !gate {
		suffix = "#"
	}
	procs := map[int]*exec.Cmd{}
	for range 2 {
		cmd := program(t, j.url+suffix)
		procs[cmd.Process.Pid] = cmd
	}
	var taken, worked []time.Duration
	leader, at := j.await(t, 0, func(w write) bool { return w.process != 0 && !w.lease })
	for round := range *rounds {
		<-time.After(time.Duration(500+round*37%700) * time.Millisecond)
		proc, before := procs[leader.process], time.Now()
		signal := syscall.SIGSTOP
		if gate && round%2 == 0 {
			signal = syscall.SIGKILL
		}
		must.OK(t, proc.Process.Signal(signal))
		took, from := j.await(t, at, func(w write) bool { return w.lease && w.process != leader.process })
		leader, at = j.await(t, from, func(w write) bool { return !w.lease && w.process == took.process })
		taken, worked = append(taken, took.done.Sub(before)), append(worked, leader.done.Sub(before))
		if signal == syscall.SIGKILL {
			_ = proc.Wait() // it was killed
			cmd := program(t, j.url+suffix)
			procs[cmd.Process.Pid] = cmd
		} else if err := proc.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	<-time.After(time.Second)
	behind, late, old, total := j.judge()
	slices.Sort(taken)
	slices.Sort(worked)
	median, last := len(taken)/2, len(taken)-1
	t.Logf("%d rounds with a lease of %v: taken after %v (worst %v), at work after %v (worst %v); %d writes, %d began after another had the lease, %d stopped behind the gate, %d did not count on",
		*rounds, duration, taken[median], taken[last], worked[median], worked[last], total, late, behind, old)
	if gate && old > behind {
		t.Errorf("%d writes did not count on: they have read an old copy", old)
	}
	if worst := duration + duration/15*6/5 + time.Second; taken[last] > worst {
		t.Errorf("the lease was taken after %v, later than %v", taken[last], worst)
	}
	return late
}

// judge reads the whole journal: which writes began after another process had the lease (late), and
// which had passed the gate before and came after that (behind). All others count on, or have read
// an old copy (old), or count on from one of the late ones.
func (j *journal) judge() (behind, late, old, total int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	slices.SortStableFunc(j.all, func(a, b write) int { return cmp.Compare(a.version, b.version) })
	var holder int
	var since time.Time
	counts := map[string]int{}
	for _, w := range j.all {
		switch {
		case w.lease && w.released:
			holder = 0
		case w.lease && w.process != holder:
			holder, since = w.process, w.done
		case w.lease, w.process == 0:
		case w.process == holder:
			if total++; w.n <= counts[w.key] {
				old++
			}
		case w.began.After(since):
			late++
		default:
			behind++
		}
		if !w.lease {
			counts[w.key] = w.n
		}
	}
	return behind, late, old, total
}
