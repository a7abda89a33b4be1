package transport

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// A program with many reflectors lists all its types after an outage: a few at a time.
func TestMaxConcurrentGets(t *testing.T) {
	entered := make(chan struct{}, 10)
	server := wires[0].serve(t, func(w http.ResponseWriter, _ *http.Request) {
		entered <- struct{}{}
		writeFrames(w, "{}")
	})
	server.MaxConcurrentGets = 2
	client := newTestClient(t, server)

	get := func(ctx context.Context) (*Response, error) { return client.Get(ctx, Request{Path: "/"}) }
	var held []*Response
	for range 2 {
		resp, err := get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, resp)
		<-entered
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := get(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a third get returned %v while two were in progress", err)
	}
	if len(entered) != 0 {
		t.Error("the server saw it")
	}
	stream, err := client.Watch(t.Context(), Request{Frames: jsonFrames, Path: "/"})
	if err != nil {
		t.Fatalf("a watch had to wait: %v", err)
	}
	defer stream.Close()
	<-entered
	if err := held[0].Body.Close(); err != nil {
		t.Fatal(err)
	}
	third, err := get(t.Context())
	if err != nil {
		t.Fatalf("a get after one was over: %v", err)
	}
	for _, resp := range []*Response{held[1], third} {
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}

// paced is a server that remembers when it was asked, and a client.
func paced(t *testing.T, change func(*Config)) (c *Client, asked func() []time.Duration, stop func()) {
	network, start := newNetwork(), time.Now()
	var times []time.Duration
	stopServer := serveOn(network, func(http.ResponseWriter, *http.Request) { times = append(times, time.Since(start)) })
	cfg := Config{Server: "http://api.example", Dial: network.Dial}
	change(&cfg)
	c = newTestClient(t, cfg)
	return c, func() []time.Duration { return times }, func() {
		c.Close()
		stopServer()
	}
}

func TestGetsPerSecond(t *testing.T) {
	for _, tt := range []struct {
		name  string
		rate  float64
		burst int
		gets  int
		want  time.Duration // when the last was asked
	}{
		{"by default there is no bound", 0, 0, 1000, 0},
		{"negative is none", -1, 5, 1000, 0},
		{"two a second", 2, 0, 7, 2500 * time.Millisecond}, // a burst of two
		{"with a burst", 2, 5, 7, time.Second},
		{"less than one a second", 0.5, 0, 3, 4 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, asked, stop := paced(t, func(c *Config) { c.GetsPerSecond, c.GetBurst = tt.rate, tt.burst })
				defer stop()
				for range tt.gets {
					if err := getAll(t.Context(), c, "/"); err != nil {
						t.Fatal(err)
					}
				}
				times := asked()
				if last := times[len(times)-1].Round(time.Millisecond); len(times) != tt.gets || last != tt.want {
					t.Errorf("the last of %d was asked after %v, want %v", len(times), last, tt.want)
				}
			})
		})
	}
}

// A watch takes no turn, and a request that is given up leaves its own to the next.
func TestGetsPerSecondLeavesWatchesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, asked, stop := paced(t, func(c *Config) { c.GetsPerSecond, c.GetBurst = 0.1, 1 })
		defer stop()
		if err := getAll(t.Context(), c, "/"); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			s, err := c.Watch(t.Context(), Request{Frames: jsonFrames, Path: "/watch"})
			if err != nil {
				t.Fatal(err)
			}
			s.Close()
		}
		if n := len(asked()); n != 11 || asked()[10] != 0 {
			t.Errorf("asked at %v", asked())
		}
		enough := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, enough)
		defer cancel()
		if err := getAll(ctx, c, "/"); !errors.Is(err, enough) {
			t.Errorf("error %v, want the cause of the context's end", err)
		}
		if err := getAll(t.Context(), c, "/"); err != nil {
			t.Fatal(err)
		}
		if times := asked(); len(times) != 12 || times[11] != 10*time.Second {
			t.Errorf("asked at %v: a turn was lost", times)
		}
	})
}

// What API Priority and Fairness asks for reaches whoever tries again.
func TestRetryAfterOfPriorityAndFairness(t *testing.T) {
	cfg := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
	})
	err := getAll(t.Context(), newTestClient(t, cfg), "/")
	if seconds, ok := apierrors.SuggestsClientDelay(err); !apierrors.IsTooManyRequests(err) || !ok || seconds != 7 {
		t.Errorf("error %v, delay %d", err, seconds)
	}
}
