package apiserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/internal/servertrace"
	"github.com/relist-go/relist/test/conformance/cluster"
)

// TestServerTraces plays the golden traces of the server's half that name kube-apiserver to one. It
// answers as apitest.
func TestServerTraces(t *testing.T) {
	// As kubeadm, so that the caches of idle types move; it sets 5 s.
	c := cluster.New(t, cluster.Options{EtcdFlags: []string{"--watch-progress-notify-interval=1s"}})
	s := sideOf(t, c)
	names, _ := filepath.Glob("../../../server/testdata/*.txt") // the pattern is right
	if len(names) == 0 {
		t.Fatal("no traces")
	}
	for _, name := range names {
		src, err := os.ReadFile(name)
		must.OK(t, err)
		f, err := servertrace.Parse(src)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !slices.Contains(f.Servers, "kube-apiserver") {
			continue
		}
		name = strings.TrimSuffix(filepath.Base(name), ".txt")
		t.Run(name, func(t *testing.T) {
			if diff := playReal(t, c, s, f, name); diff != "" {
				t.Errorf("(-apitest +kube-apiserver):\n%s", diff)
			}
		})
	}
}

// playReal plays a trace to kube-apiserver, again if somebody else has written meanwhile and it
// differs: then a version of the future was not ours.
func playReal(t *testing.T, c *cluster.Cluster, s *side, f *servertrace.File, name string) (diff string) {
	t.Helper()
	for attempt := range 4 {
		one := &kube{T: t, cluster: c, side: s, namespace: fmt.Sprintf("%s-%d", name, attempt), future: make(map[uint64]uint64)}
		s.send(t, post("/api/v1/namespaces", fmt.Sprintf(`{"metadata":{"name":%q}}`, one.namespace)))
		got, err := servertrace.Play(f, one.start)
		must.OK(t, err)
		if diff = f.Diff(got, 5*time.Second); diff == "" || one.undisturbed() {
			break
		}
		t.Logf("somebody else has written; again:\n%s", diff)
	}
	return diff
}

// kube is a kube-apiserver that has the versions of a trace: 1 is the version at its beginning, and
// each write adds 1. What is written between by others has the version before.
type kube struct {
	*testing.T
	*side
	cluster   *cluster.Cluster
	namespace string

	mu     sync.Mutex
	known  []span            // those of the trace, from 1 on
	future map[uint64]uint64 // versions that requests have named, and that were not there yet
	others bool              // have written
}

// span are the versions of etcd that are one version of a trace.
type span struct{ first, last uint64 }

func (k *kube) start(options string) (servertrace.Server, error) {
	now, err := k.cluster.CurrentRevision(k.Context())
	k.known = []span{{uint64(now), uint64(now)}}
	if options != "" {
		err = errors.New("kube-apiserver has no such option")
	}
	return k, err
}

// undisturbed reports whether nobody else has written.
func (k *kube) undisturbed() bool {
	now, err := k.cluster.CurrentRevision(k.Context())
	return err == nil && !k.others && k.known[len(k.known)-1].last == uint64(now)
}

// toReal returns the version of etcd for that of a trace.
func (k *kube) toReal(version uint64) uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	newest := uint64(len(k.known))
	switch {
	case version == 0:
		return 0
	case version <= newest:
		return k.known[version-1].last
	}
	n := k.known[newest-1].last + version - newest
	k.future[n] = version
	return n
}

// toTrace returns the version of a trace for one of etcd.
func (k *kube) toTrace(version uint64) uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	if v, ok := k.future[version]; ok {
		return v
	}
	at := len(k.known)
	for at > 0 && k.known[at-1].first > version {
		at--
	}
	return uint64(at)
}

var asked = regexp.MustCompile(`resourceVersion=(\d+)`)

// Read sends a request with the versions of etcd, and returns the answer with those of the trace.
func (k *kube) Read(req *http.Request) (*http.Response, error) {
	query := asked.ReplaceAllStringFunc(req.URL.RawQuery, func(text string) string {
		n, _ := strconv.ParseUint(strings.TrimPrefix(text, "resourceVersion="), 10, 64) // the expression has digits
		return fmt.Sprintf("resourceVersion=%d", k.toReal(n))
	})
	path := strings.Replace(req.URL.Path, "/namespaces/default/", "/namespaces/"+k.namespace+"/", 1)
	out, err := http.NewRequestWithContext(req.Context(), http.MethodGet, k.url+path+"?"+query, nil)
	if err != nil {
		return nil, err
	}
	out.Header.Set("Authorization", "Bearer "+k.token)
	resp, err := k.client.Do(out)
	if err != nil {
		return nil, err
	}
	resp.Body = &translated{ReadCloser: resp.Body, lines: bufio.NewReader(resp.Body), of: k}
	return resp, nil
}

// translated is a body with the versions of a trace.
type translated struct {
	io.ReadCloser
	lines *bufio.Reader
	of    *kube

	rest, before []byte    // of the line that is read, and the one before
	initialEnd   time.Time // when the bookmark that ends initial events came
}

var answered = regexp.MustCompile(`("resourceVersion":"|resource version: |current: |\()(\d+)`)

func (b *translated) Read(p []byte) (n int, err error) {
	for len(b.rest) == 0 && err == nil {
		b.rest, err = b.lines.ReadBytes('\n')
		b.rest = answered.ReplaceAllFunc(b.rest, func(text []byte) []byte {
			m := answered.FindSubmatch(text)
			v, _ := strconv.ParseUint(string(m[2]), 10, 64) // the expression has digits
			return fmt.Appendf(m[1], "%d", b.of.toTrace(v))
		})
		if bytes.HasPrefix(b.rest, []byte(`{"type":"BOOKMARK"`)) {
			// What may come twice, or be followed by another one, stands in server/README.md.
			twice := bytes.Equal(b.rest, b.before)
			switch {
			case bytes.Contains(b.rest, []byte(metav1.InitialEventsAnnotationKey)):
				b.initialEnd = time.Now()
			case twice, time.Since(b.initialEnd) < 2*time.Second:
				b.rest = nil
			}
		}
		b.before = bytes.Clone(b.rest)
	}
	n = copy(p, b.rest)
	if b.rest = b.rest[n:]; len(b.rest) > 0 {
		err = nil
	}
	return n, err
}

// Write sends a write. Every write of an object has one version.
func (k *kube) Write(w servertrace.Write) (string, error) {
	resource, group, custom := strings.Cut(w.Resource, ".")
	path := "/api/v1/namespaces/"
	if custom {
		path = "/apis/" + group + "/v1/namespaces/"
	}
	path += k.namespace + "/" + resource
	k.mu.Lock()
	before := k.known[len(k.known)-1].last
	k.known = append(k.known, span{before + 1, before + 1}) // readers get it before the answer comes
	k.mu.Unlock()
	var a answer
	if w.Verb == "delete" {
		a = k.send(k.T, del(path+"/"+w.Name, ""))
	} else {
		w.Object["metadata"].(map[string]any)["namespace"] = k.namespace
		body, err := json.Marshal(w.Object)
		if err != nil {
			return "", err
		}
		if w.Verb == "create" {
			a = k.send(k.T, post(path, string(body)))
		} else {
			a = k.send(k.T, put(path+"/"+w.Name, string(body)))
		}
	}
	if a.status >= http.StatusMultipleChoices {
		return "", fmt.Errorf("%d %s", a.status, a.body)
	}
	now, err := k.cluster.CurrentRevision(k.Context())
	k.mu.Lock()
	defer k.mu.Unlock()
	k.others = k.others || uint64(now) != before+1
	k.known[len(k.known)-1].last = uint64(now)
	return strconv.Itoa(len(k.known)), err
}

// Fault does the same to the real server. Its window begins anew when it is started again.
func (k *kube) Fault(text string) error {
	var err error
	switch text {
	case "compact", "compact?resource=configmaps":
		if text == "compact" {
			err = k.cluster.Compact(k.Context())
		}
		err = errors.Join(err, k.cluster.KillAPIServer(), k.cluster.StartAPIServer(k.Context()))
	case "refill?resource=widgets.example.com":
		a := k.send(k.T, patch("merge-patch+json", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com",
			fmt.Sprintf(`{"spec":{"names":{"shortNames":["wd",%q]}}}`, strings.ReplaceAll(k.namespace, "-", ""))))
		if a.status != http.StatusOK {
			return fmt.Errorf("%d %s", a.status, a.body)
		}
		// A cache that is being filled again says 429 for a moment, and that may come twice.
		for ok, begin := 0, time.Now(); ok < 10 && time.Since(begin) < time.Minute; <-time.After(100 * time.Millisecond) {
			ok++
			if a := k.send(k.T, get("/apis/example.com/v1/widgets?resourceVersion=0")); a.status != http.StatusOK {
				ok = 0
			}
		}
	default:
		return errors.New("kube-apiserver has no such fault")
	}
	now, err2 := k.cluster.CurrentRevision(k.Context())
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known[len(k.known)-1].last = uint64(now)
	return errors.Join(err, err2)
}

// Settle waits for the lines that apitest gave, and then for a moment, in which no other may come.
func (k *kube) Settle(want int, came func() int) {
	for begin := time.Now(); came() < want && time.Since(begin) < 20*time.Second; {
		<-time.After(5 * time.Millisecond)
	}
	<-time.After(150 * time.Millisecond)
}
