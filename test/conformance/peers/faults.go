package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/relist-go/relist/apitest"
)

// fault is something that goes wrong.
type fault struct {
	name  string
	what  string // in the table
	user  string // what it is like in a cluster
	curl  string // how to do it by hand, which -list prints; F is the address of the faults
	since string // where the clock starts; if empty, when all is well again

	// patience is how long a client is given, from then on.
	patience time.Duration
	atStart  bool     // strike comes before the client is started
	loud     []string // the clients that ask as often as they can meanwhile
	json     bool     // it needs a watch in JSON, as those of custom resources are

	// strike returns when the fault is over, or sets trial.over.
	strike func(context.Context, *trial) error
}

const (
	// sinceItBegan is for faults that are over as soon as they have happened, or when a client has asked so often.
	sinceItBegan = "it happens"
	// sinceOver is for all others.
	sinceOver = "it is over"
	// sinceAsked is for faults that a client meets when it starts. Languages differ in how long that takes.
	sinceAsked = "the first request comes"
	patience   = 90 * time.Second
)

// faults are all that are played, in the order of the table.
var faults = []fault{
	{
		name: "start-refused", what: "the port is closed for the first 10 s", user: "the program starts before the API server",
		curl: `$F/refuse?for=10s`, patience: patience, atStart: true,
		strike: func(_ context.Context, t *trial) error {
			t.over = time.Now().Add(10 * time.Second)
			return t.server.Refuse(10 * time.Second)
		},
	},
	{
		name: "start-503", what: "the first three requests get 503", user: "the program starts while a load balancer has no backend",
		curl: `$F/fail?status=503&count=3`, since: sinceAsked, patience: patience, atStart: true,
		strike: func(_ context.Context, t *trial) error {
			return t.server.FailNext(apitest.Failure{Status: http.StatusServiceUnavailable, Count: 3})
		},
	},
	{
		name: "start-list-cut", what: "the first three lists break off", user: "a list takes longer than a proxy allows",
		curl: `$F/cut?lists=true&after=1000&next=3`, since: sinceAsked, patience: patience, atStart: true,
		strike: func(_ context.Context, t *trial) error {
			t.server.Cut(apitest.Cut{Lists: true, After: 1000, Next: 3})
			return nil
		},
	},
	{
		name: "start-no-mark", what: "initial events never end", user: "a proxy or an aggregated API server loses the bookmark that ends the initial events",
		curl: `$F/swallow?what=initial-events-end`, since: sinceAsked, patience: patience, atStart: true,
		strike: func(_ context.Context, t *trial) error {
			t.server.SwallowInitialEventsEnd(true)
			return nil
		},
	},
	{
		name: "end", what: "the watch ends cleanly", user: "one of several API servers shuts down",
		curl: `$F/end`, since: sinceItBegan, patience: patience,
		strike: func(_ context.Context, t *trial) error {
			t.server.EndWatches()
			return t.change()
		},
	},
	{
		name: "reset", what: "a TCP reset in the middle of an event", user: "a load balancer is replaced",
		curl: `$F/cut?after=100&reset=true`, since: sinceItBegan, patience: patience,
		strike: func(_ context.Context, t *trial) error {
			t.server.Cut(apitest.Cut{After: 100, Reset: true})
			return t.change()
		},
	},
	{
		name: "cut-thrice", what: "three watches in a row break off in an event", user: "a network with losses",
		curl: `$F/cut?after=100&next=2, $F/cut?after=100`, since: sinceItBegan, patience: patience,
		strike: func(_ context.Context, t *trial) error {
			t.server.Cut(apitest.Cut{After: 100, Next: 2})
			t.server.CutWatches(100)
			return t.change()
		},
	},
	{
		name: "ends-5s", what: "each watch ends after 5 s, for 30 s", user: "a proxy with a short time limit",
		curl: `$F/end every 5 s, six times`, patience: patience,
		strike: func(ctx context.Context, t *trial) error {
			for range 6 {
				t.server.EndWatches()
				if err := pass(ctx, 5*time.Second); err != nil {
					return err
				}
			}
			return t.change()
		},
	},
	{
		name: "ends-at-once", what: "each watch ends immediately, for 20 s", user: "a server without the version answers with an empty stream",
		curl: `$F/cut?next=1000000&clean=true, $F/end, and $F/clear after 20 s`, patience: patience, loud: []string{"python", "kube-rs", "kube-rs-stream"},
		strike: func(ctx context.Context, t *trial) error {
			return cuts(ctx, t, apitest.Cut{Clean: true})
		},
	},
	{
		name: "resets-at-once", what: "each watch is reset immediately, for 20 s", user: "a proxy whose backend crashes",
		curl: `$F/cut?next=1000000&reset=true, $F/end, and $F/clear after 20 s`, patience: patience, loud: []string{"python"},
		strike: func(ctx context.Context, t *trial) error {
			return cuts(ctx, t, apitest.Cut{Reset: true})
		},
	},
	{
		name: "goaway", what: "the server sends GOAWAY", user: "kube-apiserver with --goaway-chance",
		curl: `$F/goaway?requests=3, $F/end`, since: sinceItBegan, patience: patience,
		strike: func(_ context.Context, t *trial) error {
			t.server.GoAway(3)
			t.server.EndWatches()
			return t.change()
		},
	},
	{
		name: "refused-10s", what: "the port is closed for 10 s", user: "the only API server is replaced",
		curl: `$F/refuse?for=10s`, patience: patience,
		strike: func(ctx context.Context, t *trial) error { return outage(ctx, t, 10*time.Second, false) },
	},
	{
		name: "refused-60s", what: "the port is closed for 60 s, and the version expires", user: "etcd is compacted during an outage",
		curl: `$F/refuse?for=60s; then $F/compact`, patience: patience,
		strike: func(ctx context.Context, t *trial) error { return outage(ctx, t, time.Minute, true) },
	},
	{
		name: "refused-list-fails", what: "the port is closed for 10 s, the version expires, and three lists get 500", user: "a control plane that starts slowly",
		curl: `$F/fail?verb=list&status=500&count=3, $F/refuse?for=10s; then $F/compact`, patience: patience,
		strike: func(ctx context.Context, t *trial) error {
			err := t.server.FailNext(apitest.Failure{Verb: "list", Status: http.StatusInternalServerError, Count: 3})
			if err != nil {
				return err
			}
			return outage(ctx, t, 10*time.Second, true)
		},
	},
	{
		name: "flaps", what: "1 s down, 1 s up, ten times", user: "an API server that crashes at its start",
		curl: `$F/refuse?for=1s every 2 s, ten times`, patience: patience,
		strike: func(ctx context.Context, t *trial) error {
			for range 10 {
				if err := outage(ctx, t, time.Second, false); err != nil {
					return err
				}
				if err := pass(ctx, time.Second); err != nil {
					return err
				}
			}
			return nil
		},
	},
	{
		name: "stall", what: "the watch sends nothing for 20 s", user: "a proxy that buffers",
		curl: `$F/stall, and $F/resume after 20 s`, patience: patience,
		strike: func(ctx context.Context, t *trial) error {
			t.server.Stall()
			if err := during(ctx, t, 20*time.Second); err != nil {
				return err
			}
			return t.server.Resume()
		},
	},
	{
		name: "half-open", what: "the connection goes silent forever", user: "a firewall or NAT drops the connection",
		curl: `$F/half-open`, since: sinceItBegan, patience: 11 * time.Minute,
		strike: func(_ context.Context, t *trial) error {
			t.server.HalfOpen()
			return t.change()
		},
	},
	{
		name: "expired", what: "the watch falls behind and ends, and its version expires", user: "a slow client or network",
		curl: `$F/stall, $F/compact after 10 s, $F/end, $F/resume`, patience: patience,
		strike: func(ctx context.Context, t *trial) error {
			t.server.Stall()
			if err := during(ctx, t, 10*time.Second); err != nil {
				return err
			}
			t.server.CutWatches(0)
			t.server.Compact()
			return t.server.Resume()
		},
	},
	{
		name: "http-410", what: "the next three watches get HTTP 410", user: "an old or aggregated API server",
		curl: `$F/fail?verb=watch&status=410&reason=Expired&count=3, $F/end`, since: sinceItBegan, patience: patience,
		strike: failNext(apitest.Failure{Verb: "watch", Status: http.StatusGone, Reason: "Expired", Count: 3}),
	},
	{
		name: "410-for-20s", what: "each watch gets an ERROR event 410, for 20 s", user: "the watch cache is initialised again and again",
		curl: `$F/fail?verb=watch&status=410&reason=Expired&in-stream=true&for=20s, $F/end`, patience: patience, loud: []string{"python"},
		strike: failFor(20*time.Second, apitest.Failure{Verb: "watch", Status: http.StatusGone, Reason: "Expired", InStream: true}),
	},
	{
		name: "error-event", what: "the next three watches get an ERROR event 500", user: "etcd has lost its leader",
		curl: `$F/fail?verb=watch&status=500&in-stream=true&count=3, $F/end`, since: sinceItBegan, patience: patience,
		strike: failNext(apitest.Failure{Verb: "watch", Status: http.StatusInternalServerError, InStream: true, Count: 3}),
	},
	{
		name: "six-500", what: "the next six watches get 500", user: "etcd times out",
		curl: `$F/fail?verb=watch&status=500&count=6, $F/end`, since: sinceItBegan, patience: patience,
		strike: failNext(apitest.Failure{Verb: "watch", Status: http.StatusInternalServerError, Count: 6}),
	},
	{
		name: "500-for-30s", what: "each request gets 500, for 30 s", user: "etcd is down",
		curl: `$F/fail?status=500&for=30s, $F/end`, patience: patience, loud: []string{"python"},
		strike: failFor(30*time.Second, apitest.Failure{Status: http.StatusInternalServerError}),
	},
	{
		name: "503-for-30s", what: "each request gets 503 with HTML, for 30 s", user: "a load balancer has no backend",
		curl: `$F/fail?status=503&content-type=text/html&raw=%3Chtml%3E&for=30s, $F/end`, patience: patience, loud: []string{"python"},
		strike: failFor(30*time.Second, apitest.Failure{Status: http.StatusServiceUnavailable, ContentType: "text/html", Raw: []byte("<html>no server</html>")}),
	},
	{
		name: "429-for-15s", what: "each request gets 429 with Retry-After: 2, for 15 s", user: "API priority and fairness rejects the client",
		curl: `$F/fail?status=429&retry-after=2s&for=15s, $F/end`, patience: patience, loud: []string{"python"},
		strike: failFor(15*time.Second, apitest.Failure{Status: http.StatusTooManyRequests, RetryAfter: 2 * time.Second}),
	},
	{
		name: "401-for-20s", what: "each request gets 401, for 20 s", user: "the server that checks tokens is down",
		curl: `$F/fail?status=401&for=20s, $F/end`, patience: patience, loud: []string{"python"},
		strike: failFor(20*time.Second, apitest.Failure{Status: http.StatusUnauthorized}),
	},
	{
		name: "403-for-20s", what: "each request gets 403, for 20 s", user: "a role binding is deleted and applied again",
		curl: `$F/fail?status=403&for=20s, $F/end`, patience: patience, loud: []string{"python"},
		strike: failFor(20*time.Second, apitest.Failure{Status: http.StatusForbidden}),
	},
	{
		name: "404-for-20s", what: "each request gets 404, for 20 s", user: "a CustomResourceDefinition or APIService is replaced",
		curl: `$F/fail?status=404&for=20s, $F/end`, patience: patience, loud: []string{"python"},
		strike: failFor(20*time.Second, apitest.Failure{Status: http.StatusNotFound}),
	},
	{
		name: "html-for-20s", what: "each request gets 200 with HTML, for 20 s", user: "the login page of a proxy",
		curl: `$F/fail?status=200&content-type=text/html&raw=%3Chtml%3E&for=20s, $F/end`, patience: patience, loud: []string{"python"},
		strike: failFor(20*time.Second, apitest.Failure{Status: http.StatusOK, ContentType: "text/html", Raw: []byte("<html>log in</html>")}),
	},
	{
		name: "garbage", what: "a line of text between two events, then the end", user: "a proxy reports an error inside the stream",
		curl: `$F/inject?raw=no+server%0A, $F/end`, since: sinceItBegan, patience: patience,
		strike: func(_ context.Context, t *trial) error {
			t.server.Inject([]byte("no server\n"))
			t.server.EndWatches()
			return t.change()
		},
	},
	{
		name: "unknown-event", what: "an event of an unknown type", user: "a newer API server",
		curl: `$F/inject?raw=%7B%22type%22:%22NEW%22...%0A`, since: sinceItBegan, patience: patience, json: true,
		strike: func(_ context.Context, t *trial) error {
			t.server.Inject(fmt.Appendf(nil, `{"type":"NEW","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":"default","name":"poison-new","resourceVersion":%q}}}`+"\n", t.server.ResourceVersion()))
			return t.change()
		},
	},
	{
		name: "undecodable", what: "one object does not fit its type (the others count)", user: "a custom resource older than its stricter schema",
		curl: `create a ConfigMap whose data is a number`, since: sinceItBegan, json: true, patience: time.Minute,
		strike: func(_ context.Context, t *trial) error {
			if err := t.poison(); err != nil {
				return err
			}
			return t.change()
		},
	},
	{
		name: "undecodable-20s", what: "an object that does not fit its type is deleted after 20 s", user: "its owner has found it",
		curl: `create it, and delete it after 20 s`, json: true, patience: patience,
		strike: func(ctx context.Context, t *trial) error {
			if err := t.poison(); err != nil {
				return err
			}
			if err := during(ctx, t, 20*time.Second); err != nil {
				return err
			}
			return t.write(func() error { return t.remove("poison") })
		},
	},
	{
		name: "replica-behind", what: "the client is led to a server that is 15 s behind", user: "an API server whose watch cache is late",
		curl: `with --replicas 2: $F/freeze?replica=replica-1, $F/route?replica=replica-1, $F/end, and $F/unfreeze?replica=replica-1 after 15 s`, patience: patience,
		strike: func(ctx context.Context, t *trial) error {
			behind := t.server.Replica("behind")
			behind.Freeze()
			if err := during(ctx, t, 5*time.Second); err != nil {
				return err
			}
			t.server.Route(behind)
			t.server.EndWatches()
			if err := pass(ctx, 15*time.Second); err != nil {
				return err
			}
			behind.Unfreeze()
			return nil
		},
	},
	{
		name: "restored-outage", what: "a backup is restored while the port is closed", user: "etcd is restored as its documentation says",
		curl: `$F/refuse?for=10s; then $F/restore?resourceVersion=...`, patience: 2 * time.Minute,
		strike: func(ctx context.Context, t *trial) error {
			backup := t.server.ResourceVersion()
			if err := during(ctx, t, 10*time.Second); err != nil {
				return err
			}
			if err := t.server.Refuse(0); err != nil {
				return err
			}
			if err := t.restore(backup); err != nil {
				return err
			}
			if err := pass(ctx, 10*time.Second); err != nil {
				return err
			}
			return t.server.Resume()
		},
	},
	{
		name: "restored", what: "a backup is restored, and watches end cleanly", user: "etcd is restored under running API servers",
		curl: `$F/restore?resourceVersion=...`, since: sinceItBegan, patience: 2 * time.Minute,
		strike: func(ctx context.Context, t *trial) error {
			backup := t.server.ResourceVersion()
			if err := during(ctx, t, 10*time.Second); err != nil {
				return err
			}
			return t.restore(backup)
		},
	},
	{
		name: "missed-deletion", what: "a watch omits a deletion", user: "a watch cache has lost an event (kubernetes/kubernetes#123072)",
		curl: `$F/drop?type=DELETED, then delete a ConfigMap`, since: sinceItBegan, patience: 2 * time.Minute,
		strike: func(_ context.Context, t *trial) error {
			if err := t.server.DropEvent("DELETED", 1); err != nil {
				return err
			}
			return t.write(func() error { return t.remove("settings-05") })
		},
	},
}

// poison makes an object that does not fit its type. The server has no types.
func (w *world) poison() error {
	return w.write(func() error { return w.createWith("poison", 5) })
}

// restore takes the server back.
func (w *world) restore(resourceVersion string) error {
	return w.write(func() error { return w.server.Restore(apitest.Restore{ResourceVersion: resourceVersion}) })
}

// outage has nothing listen for some time. Others write meanwhile, and the server may forget what they have superseded.
func outage(ctx context.Context, t *trial, d time.Duration, compacts bool) error {
	if err := t.server.Refuse(0); err != nil { //nolint:contextcheck // the server outlives the call
		return err
	}
	var err error
	if d > time.Second {
		err = during(ctx, t, d)
	} else {
		err = pass(ctx, d)
	}
	if err != nil {
		return err
	}
	if compacts {
		t.server.Compact()
	}
	return t.server.Resume() //nolint:contextcheck // as above
}

// cuts ends the open watch, and all others for 20 s as x says.
func cuts(ctx context.Context, t *trial, x apitest.Cut) error {
	x.Next = 1_000_000
	t.server.Cut(x)
	t.server.EndWatches()
	if err := during(ctx, t, 20*time.Second); err != nil {
		return err
	}
	t.server.ClearFaults()
	return nil
}

// failNext ends the watch, and answers so many of the next requests with x.
func failNext(x apitest.Failure) func(context.Context, *trial) error {
	return func(_ context.Context, t *trial) error {
		if err := t.server.FailNext(x); err != nil {
			return err
		}
		t.server.EndWatches()
		return t.change()
	}
}

// failFor ends the watch, and answers requests with x for some time.
func failFor(d time.Duration, x apitest.Failure) func(context.Context, *trial) error {
	return func(ctx context.Context, t *trial) error {
		x.For = d
		if err := t.server.FailNext(x); err != nil {
			return err
		}
		t.server.EndWatches()
		return during(ctx, t, d)
	}
}

// during lets time pass, with changes in the middle of it.
func during(ctx context.Context, t *trial, d time.Duration) error {
	if err := pass(ctx, d/2); err != nil {
		return err
	}
	if err := t.change(); err != nil {
		return err
	}
	return pass(ctx, d-d/2)
}

func pass(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
