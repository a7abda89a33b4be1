package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/server/relay"
	"github.com/relist-go/relist/transport"
	"github.com/relist-go/relist/transport/discovery"
)

// relayKnown are the answers of a relay that differ from those of the API server behind it. The
// name of each has a row with the reason in server/relay/README.md. The pattern is as in known.
var relayKnown = []difference{
	{"versions that are no number", regexp.MustCompile(`^watches of .*watch=1&timeoutSeconds=1&resourceVersion=x |/a\?resourceVersion=x |^reads of (leases|widgets): .*/a\?resourceVersion=\{a2.rv\}`)},
	{"protobuf before JSON", regexp.MustCompile(`watch=1&timeoutSeconds=1  \[Accept: application/vnd.kubernetes.protobuf, .*\]`)},
	{"health", regexp.MustCompile(`GET /readyz `)},
}

// TestRelayAnswersAlike sends every read of the sections to a kube-apiserver, and to a relay in
// front of it. Only the kube-apiserver gets the writes.
func TestRelayAnswersAlike(t *testing.T) {
	theirs := realSide(t)
	ours := relaySide(t, theirs)
	page, err := os.ReadFile("../../../server/relay/README.md")
	must.OK(t, err)
	var mu sync.Mutex
	sum := relayed{known: make(map[string]int)}
	t.Run("sections", func(t *testing.T) {
		for _, s := range sections() {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				one := relaySection(t, ours.section(s.namespace()), theirs.section(s.namespace()), s)
				mu.Lock()
				defer mu.Unlock()
				sum.reads += one.reads
				for name, n := range one.known { // sums: the order does not matter
					sum.known[name] += n
				}
			})
		}
	})
	for name := range sum.known { // each by itself
		if !strings.Contains(string(page), "| "+name+" |") {
			t.Errorf("server/relay/README.md has no row for the difference %q", name)
		}
	}
	t.Logf("%d reads, with a known difference: %v", sum.reads, sum.known)
	if sum.reads < 1300 && !t.Failed() {
		t.Errorf("%d reads, want 1300 at least", sum.reads)
	}
}

// relayed is what came of a section: how many reads there were, and how many differ, by the name of
// the difference.
type relayed struct {
	reads int
	known map[string]int
}

func relaySection(t *testing.T, ours, theirs *side, s section) relayed {
	t.Helper()
	sum := relayed{known: make(map[string]int)}
	written := make(map[string]bool) // collections, since the last read
	for requests := s.all(); len(requests) > 0; {
		if r := requests[0]; !r.reads() {
			a := theirs.send(t, r)
			theirs.take(t, r, a)
			ours.take(t, r, a)
			written[collection(r)] = true
			requests = requests[1:]
			continue
		}
		for path := range written { // each by itself: the order does not matter
			ours.catchUp(t, theirs, path)
		}
		clear(written)
		n := 1 // reads that can be sent together, because the later ones name nothing of the answers to the others
		for n < len(requests) && requests[n].reads() && requests[n-1].saveAs == "" {
			n++
		}
		their, our := theirs.sendAll(t, requests[:n]), ours.sendAll(t, requests[:n])
		their.sending.Wait()
		our.sending.Wait()
		for i, r := range requests[:n] {
			difference := differenceOf(relayKnown, s.name, r)
			switch diff := cmp.Diff(theirs.take(t, r, their.answers[i]), ours.take(t, r, our.answers[i])); {
			case diff == "" && difference != "":
				t.Errorf("%s: nothing differs any more; %q is no difference", r.line(s.name), difference)
			case diff != "" && difference != "":
				sum.known[difference]++
			case diff != "":
				t.Errorf("%s (-kube-apiserver +relay):\n%s", r.line(s.name), diff)
			}
		}
		sum.reads += n
		requests = requests[n:]
	}
	return sum
}

func (r request) reads() bool { return r.method == http.MethodGet || r.method == http.MethodHead }

// sendAll sends requests at once. The answers are there when sending has ended.
func (s *side) sendAll(t *testing.T, requests []request) *pending {
	t.Helper()
	p := &pending{answers: make([]answer, len(requests))}
	for i, r := range requests {
		p.sending.Go(func() { p.answers[i] = s.send(t, r) })
	}
	return p
}

type pending struct {
	sending sync.WaitGroup
	answers []answer
}

// relaySide starts a relay of the types of the sections. What it does not serve it passes on.
func relaySide(t *testing.T, upstream *side) *side {
	t.Helper()
	client, err := transport.NewClient(transport.Config{Server: upstream.url, RoundTripper: upstream.client.Transport, BearerToken: upstream.token})
	must.OK(t, err)
	t.Cleanup(client.Close)
	opts := relay.Options{
		PassOn:       true,
		Authenticate: relay.TokenReviews(client, time.Minute),
		Authorize:    relay.AccessReviews(client, time.Minute, time.Second),
		OnProblem:    func(err error) { t.Error("problem:", err) },
	}
	for _, name := range []string{"namespaces", "nodes", "jobs.batch", "events"} {
		opts.Resources = append(opts.Resources, resolve(t, client, name))
	}
	for _, k := range kinds {
		gv, err := schema.ParseGroupVersion(k.apiVersion)
		must.OK(t, err)
		opts.Resources = append(opts.Resources, resolve(t, client, strings.TrimSuffix(k.plural+"."+gv.Group, ".")))
	}
	r, err := relay.New(client, opts)
	must.OK(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = r.Run(ctx) })
	front := httptest.NewServer(r)
	t.Cleanup(func() { cancel(); running.Wait(); front.Close() })
	connections := &http.Transport{MaxIdleConnsPerHost: 50}
	t.Cleanup(connections.CloseIdleConnections)
	s := &side{name: "relay", url: front.URL, token: upstream.token, client: &http.Client{Transport: connections}}
	for begin := time.Now(); s.section("").send(t, get("/readyz")).status != http.StatusOK; <-time.After(50 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatal("the relay is not ready")
		}
	}
	return s
}

func resolve(t *testing.T, client *transport.Client, name string) discovery.Resource {
	t.Helper()
	resource, err := discovery.Resolve(t.Context(), client, name)
	must.OK(t, err)
	return *resource
}

// collection returns the path of the collection that a write has changed.
func collection(r request) string {
	path, _, _ := strings.Cut(r.path, "?")
	path = strings.TrimSuffix(path, "/status")
	if r.method != http.MethodPost {
		path = path[:strings.LastIndex(path, "/")]
	}
	return path
}

// catchUp waits until the relay has what the API server has of a collection.
func (s *side) catchUp(t *testing.T, theirs *side, collection string) {
	t.Helper()
	items := func(s *side, query string) string {
		list := struct{ Items any }{}
		a := s.send(t, get(collection+query))
		if err := json.Unmarshal(a.body, &list); err != nil {
			return string(a.body) // there is no such collection, and the relay says the same
		}
		return fmt.Sprint(list.Items)
	}
	for begin := time.Now(); items(theirs, "") != items(s, "?resourceVersion=0"); <-time.After(5 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatalf("the relay does not catch up with %s", collection)
		}
	}
}
