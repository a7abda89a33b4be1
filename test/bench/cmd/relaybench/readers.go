package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/test/bench/cases"
	"github.com/relist-go/relist/test/bench/objects"
	"github.com/relist-go/relist/transport"
)

// patience is how long a reader may take for its first state, and for the last change.
const patience = 5 * time.Minute

// A reader follows the Pods of one node.
type reader struct {
	server string
	node   string
	newest atomic.Uint64 // version of a Pod

	mu   sync.Mutex
	lags []time.Duration
}

// saw is called with each change.
func (r *reader) saw(version uint64, sent int64) {
	lag := time.Since(time.Unix(0, sent))
	r.mu.Lock()
	r.lags = append(r.lags, lag)
	r.mu.Unlock()
	r.newest.Store(max(version, r.newest.Load())) // one goroutine calls
}

func (r *reader) sawPod(pod *corev1.Pod) {
	version, _ := strconv.ParseUint(pod.ResourceVersion, 10, 64) // the server makes both
	sent, _ := strconv.ParseInt(pod.Annotations[objects.SentAnnotation], 10, 64)
	r.saw(version, sent)
}

func (r *reader) selector() string { return "spec.nodeName=" + r.node }

// kinds are the ways to read. Each returns when the first state is there, and goes on until ctx
// ends.
var kinds = map[string]func(context.Context, *reader) error{"relist": readRelist, "client-go": readClientGo, "raw": readRaw}

// read is a process of readers. Its input ends with the version of the last change: then it prints
// how late each was.
func read(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("readers", flag.ContinueOnError)
	server := flags.String("server", "", "`URL` of the server")
	kind := flags.String("kind", "relist", "relist, client-go or raw")
	first := flags.Int("first", 0, "`number` of the first reader, which says whose node it is on")
	count := flags.Int("count", 1, "`number` of readers")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	var all []*reader
	started := make(chan error)
	limit := make(chan struct{}, 20) // a server is not asked by all at once, because agents are not either
	for i := range *count {
		r := &reader{server: *server, node: objects.NodeName(*first + i)}
		all = append(all, r)
		go func() {
			limit <- struct{}{}
			err := kinds[*kind](ctx, r)
			<-limit
			started <- err
		}()
	}
	for range all {
		if err := <-started; err != nil {
			return err
		}
	}
	fmt.Println("ready")
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	newest, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return err
	}
	lags := []time.Duration{}
	for _, r := range all {
		last := newest - objects.Nodes + 1 // or later: the Pods of all nodes change in turn
		what := fmt.Sprintf("version %d at a reader of %s", last, r.node)
		if err := cases.Poll(ctx, what, func() bool { return r.newest.Load() >= last }); err != nil {
			return err
		}
		r.mu.Lock()
		lags = append(lags, r.lags...)
		r.mu.Unlock()
	}
	return json.NewEncoder(os.Stdout).Encode(lags)
}

func readRelist(ctx context.Context, r *reader) error {
	client, err := transport.NewClient(transport.Config{Server: r.server, TLS: transport.TLSConfig{Insecure: true}})
	if err != nil {
		return err
	}
	lw, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "pods"},
		listwatch.Options[*corev1.Pod]{FieldSelector: r.selector()})
	if err != nil {
		return err
	}
	in := informer.New(lw, informer.Options[*corev1.Pod]{Logger: slog.New(slog.DiscardHandler)})
	if _, err := in.AddHandler(informer.Handler[*corev1.Pod]{OnUpdate: func(_, pod *corev1.Pod) { r.sawPod(pod) }}); err != nil {
		return err
	}
	go func() {
		_ = in.Run(ctx) // it is the end of ctx
		client.Close()
	}()
	return in.WaitForSync(ctx)
}

func readClientGo(ctx context.Context, r *reader) error {
	config := &rest.Config{Host: r.server, QPS: -1}
	config.Insecure = true
	config.Dial = new(net.Dialer).DialContext // connections of its own
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	in := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = r.selector()
	})).Core().V1().Pods().Informer()
	if _, err := in.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, pod any) { r.sawPod(pod.(*corev1.Pod)) }}); err != nil {
		return err
	}
	go in.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), in.HasSynced) {
		return ctx.Err()
	}
	return nil
}

// What readRaw looks for in an event.
var (
	modified  = []byte(`{"type":"MODIFIED"`)
	sentMark  = []byte(`"` + objects.SentAnnotation + `":"`)
	versioned = []byte(`"resourceVersion":"`)
)

// readRaw reads a watch, and decodes nothing: so that 5,000 readers leave something of the machine
// for the relay.
func readRaw(ctx context.Context, r *reader) error {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
	query := url.Values{"watch": {"true"}, "resourceVersion": {"0"}, "fieldSelector": {r.selector()}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.server+"/api/v1/pods?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)                                       //nolint:bodyclose // it is closed below
	for begin := time.Now(); err != nil; resp, err = client.Do(req) { //nolint:bodyclose // the same
		// A server gives up a connection if the client, of which there are thousands on this
		// machine, takes two seconds for its greeting.
		if time.Since(begin) > patience {
			return err
		}
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("watch: %s", resp.Status)
	}
	go func() {
		defer func() { _ = resp.Body.Close() }()
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if bytes.HasPrefix(lines.Bytes(), modified) {
				r.saw(numberAfter(lines.Bytes(), versioned), int64(numberAfter(lines.Bytes(), sentMark)))
			}
		}
	}()
	return nil
}

// numberAfter returns the digits behind a text.
func numberAfter(line, text []byte) uint64 {
	_, rest, _ := bytes.Cut(line, text)
	digits, _, _ := bytes.Cut(rest, []byte(`"`))
	n, _ := strconv.ParseUint(string(digits), 10, 64)
	return n
}
