package record

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/trace"
	"github.com/relist-go/relist/transport"
)

// after lets time pass.
func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// The names in what is recorded here, which scrubbing must not leave.
var secrets = []string{"payments", "ledger", "alice", "bob", "carol", "team", "5d5c4d2e", "pass", "hunter2"}

// recorded checks that a conversation makes a trace with the lines wanted, and that
// scrubbing it does too, with nothing left of the names.
func recorded(t *testing.T, c *conversation, want ...string) {
	t.Helper()
	contain(t, passes(t, c), want...)
	scrubbed := scrub(c)
	for _, text := range []string{passes(t, scrubbed), string(scrubbed.raw())} {
		for _, secret := range secrets {
			if i := strings.Index(text, secret); i >= 0 {
				t.Errorf("%q is left, at %.60q, in\n%s", secret, text[i:], text)
			}
		}
	}
}

func fill(w *world) {
	w.put("payments", "alice", map[string]any{"pass": "hunter2"})
	w.put("payments", "bob", nil)
	w.put("ledger", "alice", nil)
	w.put("payments", "carol", nil)
}

var payments = setup{Options: Options{Path: "/api/v1/namespaces/payments/configmaps", Kind: "ConfigMap"}}

// expiry is a watch that is cut in the middle of an event, and goes on; that then
// expires during an outage, and is told so in the stream.
func expiry(t *testing.T) *conversation {
	t.Helper()
	return listenTo(t, apitest.Options{}, payments, fill, func(w *world) {
		after(10 * time.Second)
		w.put("payments", "dora", nil)
		w.remove("payments", "bob")
		after(90 * time.Second)
		w.server.CutWatches(120)
		w.put("payments", "alice", nil)
		after(20 * time.Second)
		w.crash(true)
		w.remove("payments", "carol")
		w.server.Compact()
		after(3 * time.Second)
		w.crash(false)
		after(20 * time.Second)
	})
}

func TestExpired(t *testing.T) {
	c := expiry(t)
	recorded(t, c,
		"start path=/api/v1/namespaces/payments/configmaps\n",
		"\tpayments/alice@2 uid=5d5c4d2e-alice\n",
		"< raw `{\"type\":`\n< cut\n> GET",
		"< refuse\n", "> refused\n",
		"< ERROR 410 Expired \"too old resource version: 8 (9)\"\n> close\n",
		"= payments/carol Deleted@5 (final state unknown)\n",
	)
}

// A server that is behind waits, and says so.
func TestTooLarge(t *testing.T) {
	c := listenTo(t, apitest.Options{}, payments, fill, func(w *world) {
		old := w.server.Replica("old")
		old.Freeze()
		after(2 * time.Second)
		w.put("payments", "alice", nil)
		w.server.Route(old)
		w.fail(apitest.Failure{Verb: "watch", Count: 2, Status: 410, Reason: "Expired", InStream: true}) // before the last event, and behind it
		w.server.CutWatches(0)
		after(20 * time.Second)
		old.Unfreeze()
		after(20 * time.Second)
	})
	recorded(t, c, "sleep 3s\n", "< 504 Timeout \"Timeout: Too large resource version: 6, current: 5\" {\"details\":")
}

// A token that expired comes with another one.
func TestContinueExpired(t *testing.T) {
	opts := payments
	opts.PageSize = 1
	c := listenTo(t, apitest.Options{}, opts, func(w *world) {
		fill(w)
		w.fail(apitest.Failure{Verb: "list", Status: 429, RetryAfter: 5 * time.Second})
	}, func(w *world) {
		w.server.ExpireContinue()
		after(30 * time.Second)
		w.server.ExpireContinue()
		after(30 * time.Second)
	})
	recorded(t, c,
		"start path=/api/v1/namespaces/payments/configmaps limit=1\n",
		"< 429 TooManyRequests ", "~ 5s\n",
	)
}

// What is no list, no watch and no Status is in the trace as something that cannot be read either.
func TestProxies(t *testing.T) {
	page := []byte("<html>gateway of payments</html>\n")
	c := listenTo(t, apitest.Options{}, payments, func(w *world) {
		fill(w)
		w.fail(apitest.Failure{Verb: "list", Status: 200, Raw: page, ContentType: "text/html"})
		w.fail(apitest.Failure{Verb: "list", Status: 503, Raw: page, ContentType: "text/html"})
		w.fail(apitest.Failure{Verb: "watch", Status: 200, Raw: page, ContentType: "text/html"})
	}, func(w *world) {
		after(20 * time.Second)
		w.server.Inject([]byte("{\"type\":\"WEIRD\",\"object\":{\"metadata\":{\"name\":\"alice\"}}}\n"))
		after(20 * time.Second)
		w.server.Inject([]byte("payments\n"))
		after(20 * time.Second)
	})
	recorded(t, c,
		"< 200 body \"text/html\" \"(33 bytes)\"\n", "< 503 ServiceUnavailable ",
		`< raw "{\"type\":\"UNKNOWN\",\"object\":{}}\n"`, "< raw \"unreadable\\n\"\n",
	)
}

// Objects that cannot be decoded stay so.
func TestUndecodable(t *testing.T) {
	c := listenTo(t, apitest.Options{}, payments, func(w *world) {
		fill(w)
		w.put("payments", "bob", map[string]any{"pass": 5})
	}, func(w *world) {
		after(2 * time.Second)
		w.put("payments", "carol", map[string]any{"pass": []any{"hunter2"}})
		after(20 * time.Second)
	})
	recorded(t, c, "\tpayments/bob@6 uid=5d5c4d2e-bob {\"metadata\":{\"labels\":\"unreadable\"}}\n", "! object payments/bob\n", "! object payments/carol\n")
}

// A watch that brings nothing at all is given up in time.
func TestStall(t *testing.T) {
	c := listenTo(t, apitest.Options{}, payments, fill, func(w *world) {
		after(2 * time.Second)
		w.server.Stall()
		after(2 * time.Minute)
	})
	recorded(t, c, "~ 55s\n> close\n")
}

func TestNothingThere(t *testing.T) {
	c := listenTo(t, apitest.Options{}, payments, func(w *world) { w.crash(true) }, func(*world) {
		after(3 * time.Second)
	})
	recorded(t, c, "< refuse\nstart path=", "> refused\n! list\n# list configmaps in ")
	if c.unsynced == nil || !strings.Contains(c.unsynced.Error(), "connection refused") {
		t.Errorf("the client had no list, and the recording says: %v", c.unsynced)
	}
}

// A trace and the recording say why the client does not use a list.
func TestNothingDecodable(t *testing.T) {
	c := listenTo(t, apitest.Options{}, payments, func(w *world) { w.put("payments", "alice", map[string]any{"pass": 5}) }, func(*world) {
		after(500 * time.Millisecond)
	})
	text := passes(t, c)
	contain(t, text, "! list\n# none of the objects in the list can be decoded: ")
	if n := strings.Count(text, "none of the objects"); n != 1 {
		t.Errorf("the reason is told %d times, want once:\n%s", n, text)
	}
	recorded(t, c)
	if c.unsynced == nil || !strings.Contains(c.unsynced.Error(), "none of the objects in the list can be decoded: ") {
		t.Errorf("the client used no list, and the recording says: %v", c.unsynced)
	}
	c = listenTo(t, apitest.Options{}, payments, fill, func(*world) { after(time.Second) })
	if c.unsynced != nil {
		t.Errorf("the client had a list, and the recording says: %v", c.unsynced)
	}
}

func TestOtherResources(t *testing.T) {
	deployments := setup{Options: Options{
		Path: "/apis/apps/v1/deployments", Kind: "Deployment",
		LabelSelector: "team=team-of-alice", FieldSelector: "metadata.namespace!=ledger",
	}}
	c := listenTo(t, apitest.Options{}, deployments, func(w *world) {
		for _, namespace := range []string{"ledger", "payments"} {
			_, err := w.server.Create("deployments.apps", map[string]any{"metadata": map[string]any{
				"name": "alice", "namespace": namespace, "labels": map[string]any{"team": "team-of-alice"},
			}})
			must.OK(t, err)
		}
	}, func(*world) { after(2 * time.Second) })
	recorded(t, c, "start path=/apis/apps/v1/deployments kind=Deployment selector=team=team-of-alice field-selector=metadata.namespace!=ledger\n", "\tpayments/alice@")

	nodes := setup{Options: Options{Path: "/api/v1/nodes", Kind: "Node"}}
	c = listenTo(t, apitest.Options{}, nodes, func(w *world) {
		if _, err := w.server.Create("nodes", map[string]any{"metadata": map[string]any{"name": "alice"}}); err != nil {
			t.Fatal(err)
		}
	}, func(*world) { after(2 * time.Second) })
	recorded(t, c, "\t/alice@2 uid=", "= alice Replaced@2\n")
}

// A recording whose replay does something else is no trace.
func TestDiverged(t *testing.T) {
	c := listenTo(t, apitest.Options{}, payments, fill, func(*world) { after(2 * time.Second) })
	c.exchanges[1].target = "/somewhere/else"
	r, err := c.recording(trace.Mirror)
	var diverged *DivergedError
	if !errors.As(err, &diverged) || diverged.Live != "> GET /somewhere/else" || !strings.Contains(diverged.Replay, "watch=true") {
		t.Errorf("error %v", err)
	}
	if r == nil || r.Trace != nil || !strings.Contains(string(r.Raw), "< 200 list") {
		t.Errorf("recording %+v, want a raw one and no trace", r)
	}

	c = listenTo(t, apitest.Options{}, payments, fill, func(*world) { after(2 * time.Second) })
	c.exchanges = c.exchanges[:1]
	c.exchanges[0].items = c.exchanges[0].items[:0]
	c.exchanges = append(c.exchanges, &exchange{target: "/never"})
	if _, err := c.recording(trace.Mirror); !errors.As(err, &diverged) || diverged.Live != "> GET /never" {
		t.Errorf("error %v", err)
	}
}

// Record over the network, in real time; nothing is left running.
func TestRecord(t *testing.T) {
	server := apitest.New(apitest.Options{})
	listener, err := server.Listen("127.0.0.1:0")
	must.OK(t, err)
	client, err := transport.NewClient(transport.Config{Server: listener.URL})
	must.OK(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	opts := Options{Path: "/api/v1/namespaces/default/configmaps", Kind: "ConfigMap", Line: func(line string) {
		if line == "< 200 watch" {
			cancel()
		}
	}}
	r, err := Record(ctx, client, opts)
	if err != nil || r.Requests != 2 || r.Objects != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	contain(t, string(r.Trace), "# Recorded: configmaps in the namespace default, for 1s.\n", "< 200 list rv=1\n", "stop\n> close\n")
	client.Close()
	if err := server.Close(); err != nil {
		t.Error(err)
	}

	if _, err := Record(t.Context(), client, Options{Path: "pods", Kind: "Pod"}); err == nil {
		t.Error("a path that is none was recorded")
	}
	fails := func(trace.Env) (trace.Client, error) { return nil, errors.New("no such client") }
	opts.Program = fails
	if _, err := Record(t.Context(), client, opts); err == nil || !strings.Contains(err.Error(), "no such client") {
		t.Errorf("error %v, want that of the program", err)
	}
	for want, ends := range map[string]quitter{
		"record: the client ended by itself: enough":                         {err: errors.New("enough")},
		"record: the client ended by itself, and Run did not say why: a nil": {},
	} {
		opts.Program = func(trace.Env) (trace.Client, error) { return ends, nil }
		_, err := Record(t.Context(), client, opts)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// quitter is a client that does nothing but end.
type quitter struct {
	trace.Client

	err error
}

func (q quitter) Run(context.Context) error { return q.err }
func (q quitter) Pop() (string, bool)       { return "", false }
func (q quitter) Close()                    {}

// An event that comes in two pieces is one line.
func TestEventInPieces(t *testing.T) {
	const line = `{"type":"MODIFIED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"alice","namespace":"payments","uid":"5d5c4d2e-alice","resourceVersion":"7"}}}` + "\n"
	c := listenTo(t, apitest.Options{}, payments, fill, func(w *world) {
		for _, piece := range []string{line[:60], line[60:]} {
			after(time.Second)
			w.server.Inject([]byte(piece))
		}
		after(time.Second)
	})
	recorded(t, c, "sleep 2s\n< MODIFIED payments/alice@7 uid=5d5c4d2e-alice\n", "= payments/alice Updated@7\n")
}
