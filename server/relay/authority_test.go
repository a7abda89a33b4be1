package relay

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// The rows of the table in server/relay/README.md: what a reader does, and what the API server and
// the reviews do, while a right is withdrawn.
var (
	readers = []string{"fast watch", "slow watch", "initial events", "list", "WebSocket", "forwarded watch", "slow forwarded watch", "forwarded list"}
	servers = []string{"up", "flapping", "away"}
	reviews = []string{"answering", "slow", "failing", "flapping"}
)

// The bounds of server/relay/README.md, behind the time for which an answer is remembered.
const (
	ttl        = time.Minute // see guarded
	answered   = ttl + recheck + 2*reviewTimeout
	unanswered = ttl + unsure + 2*reviewTimeout
	listed     = ttl + 15*time.Second // a review, and the wait for a version
)

// TestAuthorityInTime withdraws the right of readers, and looks at when everything was made that
// they get afterwards.
func TestAuthorityInTime(t *testing.T) {
	t.Parallel()
	seeds := 1000
	if testing.Short() {
		seeds = 2 * len(readers) // each reader meets two sorts of reviews
	}
	late := map[string]time.Duration{}
	for seed := range seeds {
		silent := Options{OnProblem: func(error) {}} // a reader cannot be known while the reviews fail
		guarded(t, silent, func(r *rig, a *authority) {
			w := &withdrawal{
				rig: r, authority: a, rand: rand.New(rand.NewPCG(uint64(seed), 7)), start: time.Now(),
				reader: readers[seed%len(readers)], reviews: reviews[(seed+seed/len(readers))%len(reviews)], server: servers[seed%len(servers)],
			}
			w.play()
			bound := answered
			if w.reviews == "failing" || w.reviews == "flapping" {
				bound = unanswered
			}
			if w.reader == "list" {
				bound = listed
			}
			name := fmt.Sprintf("seed %d: a %s, the server %s, the reviews %s", seed, w.reader, w.server, w.reviews)
			if late := w.last - w.at; late > bound {
				t.Errorf("%s: the reader got what was made %v after the right was withdrawn, want at most %v", name, late, bound)
			}
			if w.server == "up" && bound == answered && slices.Contains([]string{"fast watch", "WebSocket", "forwarded watch"}, w.reader) && (w.told == 0 || w.told-w.at > bound) {
				t.Errorf("%s: the reader was told %v after the right was withdrawn, want %v", name, w.told-w.at, bound)
			}
			late[w.reader] = max(late[w.reader], w.last-w.at)
		})
	}
	for _, reader := range readers {
		if late[reader] < ttl/4 && !testing.Short() {
			t.Errorf("a %s: the last that it got was made %v after the right was withdrawn, which is too early to show anything", reader, late[reader])
		}
		t.Logf("a %s: the last that it got was made %v after the right was withdrawn", reader, late[reader].Round(time.Second))
	}
}

// A withdrawal is a story about alice, who loses her right while she reads.
type withdrawal struct {
	*rig
	*authority // of the reviews

	rand                    *rand.Rand
	reader, server, reviews string

	start time.Time
	at    time.Duration // when the right was withdrawn

	mu   sync.Mutex
	last time.Duration // when the newest object was made that the reader got
	told time.Duration // when the reader first read that the right is gone
}

func (w *withdrawal) play() {
	ctx, cancel := context.WithCancel(w.Context())
	var running sync.WaitGroup
	for _, do := range []func(context.Context, *rand.Rand){w.write, w.disturb, w.review, w.read} {
		own := rand.New(rand.NewPCG(w.rand.Uint64(), 7))
		running.Go(func() { do(ctx, own) })
	}
	later(time.Minute + time.Duration(w.rand.Int64N(int64(2*time.Minute))))
	token := w.rand.IntN(2) == 0
	w.set(func() {
		if w.at = time.Since(w.start); token {
			delete(w.tokens, "t-alice")
		} else {
			delete(w.rights, "alice * * * *")
		}
	})
	later(5 * time.Minute)
	cancel()
	running.Wait()
}

// pause waits up to a time. It reports whether the story goes on.
func pause(ctx context.Context, r *rand.Rand, most time.Duration) bool {
	select {
	case <-time.After(time.Duration(r.Int64N(int64(most)))):
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// write creates Pods that are named after the time at which they are made.
func (w *withdrawal) write(ctx context.Context, r *rand.Rand) {
	for pause(ctx, r, 4*time.Second) {
		_, err := w.rig.server.Create("pods", map[string]any{"metadata": map[string]any{
			"name": fmt.Sprintf("made-%d", time.Since(w.start)), "namespace": "shop",
			"annotations": map[string]any{"a": strings.Repeat("x", r.IntN(8<<10))},
		}})
		if err != nil {
			w.Error(err)
		}
	}
}

// disturb is what the API server does.
func (w *withdrawal) disturb(ctx context.Context, r *rand.Rand) {
	for w.server == "flapping" && pause(ctx, r, time.Minute) {
		if r.IntN(2) == 0 {
			w.rig.server.CutWatches(int64(r.IntN(300)))
			continue
		}
		w.refuse(1 + r.IntN(30)) //nolint:contextcheck // the server goes on
		later(30 * time.Second)
	}
	if w.server == "away" && pause(ctx, r, 5*time.Minute) {
		w.refuse(1 + r.IntN(300)) //nolint:contextcheck // the server goes on
	}
}

// refuse makes the API server refuse connections for some seconds.
func (w *withdrawal) refuse(seconds int) {
	if err := w.rig.server.Refuse(time.Duration(seconds) * time.Second); err != nil {
		w.Error(err)
	}
}

// review is what the reviews do.
func (w *withdrawal) review(ctx context.Context, r *rand.Rand) {
	switch w.reviews {
	case "slow":
		w.set(func() { w.slow = time.Duration(r.Int64N(int64(reviewTimeout))) })
	case "failing":
		if pause(ctx, r, 4*time.Minute) {
			w.set(func() { w.down = true })
		}
	case "flapping":
		for pause(ctx, r, 2*time.Minute) {
			w.set(func() { w.down, w.slow = !w.down, time.Duration(r.Int64N(int64(2*reviewTimeout))) })
		}
	}
}

// read reads, and begins again if an answer has ended.
func (w *withdrawal) read(ctx context.Context, r *rand.Rand) {
	for pause(ctx, r, 5*time.Second) {
		if w.reader == "WebSocket" {
			w.readMessages(ctx)
			continue
		}
		const watch, initial = "watch=true&timeoutSeconds=3600", "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
		query, pace := watch+"&resourceVersion=0", time.Duration(0)
		switch w.reader {
		case "initial events":
			query, pace = watch+"&resourceVersion=0&"+initial, 30*time.Second
		case "list":
			query, pace = "resourceVersion=0", 5*time.Second
		case "forwarded list":
			query, pace = "", 5*time.Second
		case "slow watch", "slow forwarded watch":
			pace = 30 * time.Second
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/api/v1/pods?"+query, nil)
		if err != nil {
			w.Error(err)
			return
		}
		req.Header.Set("Accept-Encoding", "identity") // or all of a slow list comes at once
		if strings.HasSuffix(w.reader, "forwarded watch") {
			req.Header.Set("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
		}
		resp, err := bearing{"t-alice", w.http.Transport}.RoundTrip(req)
		if err != nil {
			continue
		}
		w.consume(ctx, r, resp.Body, pace)
		_ = resp.Body.Close()
	}
}

// consume reads an answer. A slow reader pauses now and then.
func (w *withdrawal) consume(ctx context.Context, r *rand.Rand, body io.Reader, pace time.Duration) {
	text := bufio.NewReader(body)
	for n := 0; ; n++ {
		word, err := text.ReadString('"')
		if err != nil {
			return
		}
		w.see(strings.TrimSuffix(word, `"`))
		if pace > 0 && r.IntN(500) == 0 && !pause(ctx, r, pace) {
			return
		}
	}
}

func (w *withdrawal) readMessages(ctx context.Context) {
	dialer := websocket.Dialer{NetDialContext: w.dial.Dial, Subprotocols: []string{
		tokenProtocol + base64.RawURLEncoding.EncodeToString([]byte("t-alice")),
	}}
	conn, resp, err := dialer.DialContext(ctx, "ws://localhost/api/v1/pods?watch=true&resourceVersion=0&timeoutSeconds=3600", nil)
	if resp != nil {
		w.consume(ctx, nil, resp.Body, 0) // why it is refused, or nothing
		_ = resp.Body.Close()
	}
	if err != nil {
		return
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	for {
		_, message, err := conn.ReadMessage()
		if err != nil {
			_ = conn.Close()
			return
		}
		for word := range bytes.SplitSeq(message, []byte(`"`)) {
			w.see(string(word))
		}
	}
}

// see notes a string of an answer: the name of an object, or the reason of a Status.
func (w *withdrawal) see(word string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if text, ok := strings.CutPrefix(word, "made-"); ok {
		if made, err := strconv.ParseInt(text, 10, 64); err == nil {
			w.last = max(w.last, time.Duration(made))
		}
	}
	if w.told == 0 && (word == "Forbidden" || word == "Unauthorized") {
		w.told = time.Since(w.start)
	}
}
