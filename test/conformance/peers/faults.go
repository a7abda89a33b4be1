package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/relist-go/relist/apitest"
)

type fault struct {
	name  string
	what  string // in the table
	user  string // what it is like in a cluster
	steps []step // the fault is over after the last, or at trial.over
	since string // where the clock starts; if empty, when all is well again

	// patience is how long a client is given, from then on.
	patience time.Duration
	atStart  bool     // it happens before the client is started
	loud     []string // the clients that ask as often as they can meanwhile
	json     bool     // it needs a watch in JSON, as those of custom resources are
}

const (
	// sinceItBegan is for faults that are over as soon as they have happened, or when a client has
	// asked so often.
	sinceItBegan = "it happens"
	// sinceOver is for all others.
	sinceOver = "it is over"
	// sinceAsked is for faults that a client meets when it starts. Languages differ in how long
	// that takes.
	sinceAsked = "the first request comes"
	patience   = 90 * time.Second
)

// faults are all that are played, in the order of the table.
var faults = []fault{
	{
		name: "start-refused", what: "the port is closed for the first 10 s", user: "the program starts before the API server",
		patience: patience, atStart: true,
		steps: []step{
			{`$F/refuse?for=10s`, func(_ context.Context, t *trial) error {
				t.over = time.Now().Add(10 * time.Second)
				return t.server.Refuse(10 * time.Second)
			}},
		},
	},
	{
		name: "start-503", what: "the first three requests get 503", user: "the program starts while a load balancer has no backend",
		since: sinceAsked, patience: patience, atStart: true,
		steps: []step{post(`fail?status=503&count=3`)},
	},
	{
		name: "start-list-cut", what: "the first three lists break off", user: "a list takes longer than a proxy allows",
		since: sinceAsked, patience: patience, atStart: true,
		steps: []step{post(`cut?lists=true&after=1000&next=3`)},
	},
	{
		name: "start-no-mark", what: "initial events never end", user: "a proxy or an aggregated API server loses the bookmark that ends the initial events",
		since: sinceAsked, patience: patience, atStart: true,
		steps: []step{post(`swallow?what=initial-events-end`)},
	},
	{
		name: "end", what: "the watch ends cleanly", user: "one of several API servers shuts down",
		since: sinceItBegan, patience: patience,
		steps: []step{post(`end`), change},
	},
	{
		name: "reset", what: "a TCP reset in the middle of an event", user: "a load balancer is replaced",
		since: sinceItBegan, patience: patience,
		steps: []step{post(`cut?after=100&reset=true`), change},
	},
	{
		name: "cut-thrice", what: "three watches in a row break off in an event", user: "a network with losses",
		since: sinceItBegan, patience: patience,
		steps: []step{post(`cut?after=100&next=2`), post(`cut?after=100`), change},
	},
	{
		name: "ends-5s", what: "each watch ends after 5 s, for 30 s", user: "a proxy with a short time limit",
		patience: patience,
		steps:    []step{times(6, post(`end`), pause(5*time.Second)), change},
	},
	{
		name: "ends-at-once", what: "each watch ends immediately, for 20 s", user: "a server without the version answers with an empty stream",
		patience: patience, loud: []string{"python", "kube-rs", "kube-rs-stream"},
		steps: []step{post(`cut?next=1000000&clean=true`), post(`end`), during(20 * time.Second), post(`clear`)},
	},
	{
		name: "resets-at-once", what: "each watch is reset immediately, for 20 s", user: "a proxy whose backend crashes",
		patience: patience, loud: []string{"python"},
		steps: []step{post(`cut?next=1000000&reset=true`), post(`end`), during(20 * time.Second), post(`clear`)},
	},
	{
		name: "goaway", what: "the server sends GOAWAY", user: "kube-apiserver with --goaway-chance",
		since: sinceItBegan, patience: patience,
		steps: []step{post(`goaway?requests=3`), post(`end`), change},
	},
	{
		name: "refused-10s", what: "the port is closed for 10 s", user: "the only API server is replaced",
		patience: patience,
		steps:    []step{outage(10*time.Second, false)},
	},
	{
		name: "refused-60s", what: "the port is closed for 60 s, and the version expires", user: "etcd is compacted during an outage",
		patience: patience,
		steps:    []step{outage(time.Minute, true)},
	},
	{
		name: "refused-list-fails", what: "the port is closed for 10 s, the version expires, and three lists get 500", user: "a control plane that starts slowly",
		patience: patience,
		steps:    []step{post(`fail?verb=list&status=500&count=3`), outage(10*time.Second, true)},
	},
	{
		name: "flaps", what: "1 s down, 1 s up, ten times", user: "an API server that crashes at its start",
		patience: patience,
		steps:    []step{times(10, outage(time.Second, false), pause(time.Second))},
	},
	{
		name: "stall", what: "the watch sends nothing for 20 s", user: "a proxy that buffers",
		patience: patience,
		steps:    []step{post(`stall`), during(20 * time.Second), post(`resume`)},
	},
	{
		name: "half-open", what: "the connection goes silent forever", user: "a firewall or NAT drops the connection",
		since: sinceItBegan, patience: 11 * time.Minute,
		steps: []step{post(`half-open`), change},
	},
	{
		name: "expired", what: "the watch falls behind and ends, and its version expires", user: "a slow client or network",
		patience: patience,
		steps:    []step{post(`stall`), during(10 * time.Second), post(`cut`), post(`compact`), post(`resume`)},
	},
	{
		name: "http-410", what: "the next three watches get HTTP 410", user: "an old or aggregated API server",
		since: sinceItBegan, patience: patience,
		steps: []step{post(`fail?verb=watch&status=410&reason=Expired&count=3`), post(`end`), change},
	},
	{
		name: "410-for-20s", what: "each watch gets an ERROR event 410, for 20 s", user: "the watch cache is initialised again and again",
		patience: patience, loud: []string{"python"},
		steps: []step{post(`fail?verb=watch&status=410&reason=Expired&in-stream=true&for=20s`), post(`end`), during(20 * time.Second)},
	},
	{
		name: "error-event", what: "the next three watches get an ERROR event 500", user: "etcd has lost its leader",
		since: sinceItBegan, patience: patience,
		steps: []step{post(`fail?verb=watch&status=500&in-stream=true&count=3`), post(`end`), change},
	},
	{
		name: "six-500", what: "the next six watches get 500", user: "etcd times out",
		since: sinceItBegan, patience: patience,
		steps: []step{post(`fail?verb=watch&status=500&count=6`), post(`end`), change},
	},
	{
		name: "500-for-30s", what: "each request gets 500, for 30 s", user: "etcd is down",
		patience: patience, loud: []string{"python"},
		steps: []step{post(`fail?status=500&for=30s`), post(`end`), during(30 * time.Second)},
	},
	{
		name: "503-for-30s", what: "each request gets 503 with HTML, for 30 s", user: "a load balancer has no backend",
		patience: patience, loud: []string{"python"},
		steps: []step{post(`fail?status=503&content-type=text/html&raw=%3Chtml%3Eno+server%3C/html%3E&for=30s`), post(`end`), during(30 * time.Second)},
	},
	{
		name: "429-for-15s", what: "each request gets 429 with Retry-After: 2, for 15 s", user: "API priority and fairness rejects the client",
		patience: patience, loud: []string{"python"},
		steps: []step{post(`fail?status=429&retry-after=2s&for=15s`), post(`end`), during(15 * time.Second)},
	},
	{
		name: "401-for-20s", what: "each request gets 401, for 20 s", user: "the server that checks tokens is down",
		patience: patience, loud: []string{"python"},
		steps: []step{post(`fail?status=401&for=20s`), post(`end`), during(20 * time.Second)},
	},
	{
		name: "403-for-20s", what: "each request gets 403, for 20 s", user: "a role binding is deleted and applied again",
		patience: patience, loud: []string{"python"},
		steps: []step{post(`fail?status=403&for=20s`), post(`end`), during(20 * time.Second)},
	},
	{
		name: "404-for-20s", what: "each request gets 404, for 20 s", user: "a CustomResourceDefinition or APIService is replaced",
		patience: patience, loud: []string{"python"},
		steps: []step{post(`fail?status=404&for=20s`), post(`end`), during(20 * time.Second)},
	},
	{
		name: "html-for-20s", what: "each request gets 200 with HTML, for 20 s", user: "the login page of a proxy",
		patience: patience, loud: []string{"python"},
		steps: []step{post(`fail?status=200&content-type=text/html&raw=%3Chtml%3Elog+in%3C/html%3E&for=20s`), post(`end`), during(20 * time.Second)},
	},
	{
		name: "garbage", what: "a line of text between two events, then the end", user: "a proxy reports an error inside the stream",
		since: sinceItBegan, patience: patience,
		steps: []step{post(`inject?raw=no+server%0A`), post(`end`), change},
	},
	{
		name: "unknown-event", what: "an event of an unknown type", user: "a newer API server",
		since: sinceItBegan, patience: patience, json: true,
		steps: []step{
			{`$F/inject?raw=%7B%22type%22:%22NEW%22...%0A`, func(_ context.Context, t *trial) error {
				t.server.Inject(fmt.Appendf(nil, `{"type":"NEW","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":"default","name":"poison-new","resourceVersion":%q}}}`+"\n", t.server.ResourceVersion()))
				return nil
			}},
			change,
		},
	},
	{
		name: "undecodable", what: "one object does not fit its type (the others count)", user: "a custom resource older than its stricter schema",
		since: sinceItBegan, json: true, patience: time.Minute,
		steps: []step{poison, change},
	},
	{
		name: "undecodable-20s", what: "an object that does not fit its type is deleted after 20 s", user: "its owner has found it",
		json: true, patience: patience,
		steps: []step{poison, during(20 * time.Second), remove("poison")},
	},
	{
		name: "replica-behind", what: "the client is led to a server that is 15 s behind", user: "an API server whose watch cache is late",
		patience: patience,
		steps: []step{
			{`$F/freeze?replica=replica-1`, func(_ context.Context, t *trial) error {
				t.server.Replica("replica-1").Freeze()
				return nil
			}},
			during(5 * time.Second),
			post(`route?replica=replica-1`), post(`end`), pause(15 * time.Second), post(`unfreeze?replica=replica-1`),
		},
	},
	{
		name: "restored-outage", what: "a backup is restored while the port is closed", user: "etcd is restored as its documentation says",
		patience: 2 * time.Minute,
		steps: []step{
			{`$F/refuse?for=10s; then $F/restore?resourceVersion=...`, func(ctx context.Context, t *trial) error {
				backup := t.server.ResourceVersion()
				if err := writing(ctx, t, 10*time.Second); err != nil {
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
			}},
		},
	},
	{
		name: "restored", what: "a backup is restored, and watches end cleanly", user: "etcd is restored under running API servers",
		since: sinceItBegan, patience: 2 * time.Minute,
		steps: []step{
			{`$F/restore?resourceVersion=...`, func(ctx context.Context, t *trial) error {
				backup := t.server.ResourceVersion()
				if err := writing(ctx, t, 10*time.Second); err != nil {
					return err
				}
				return t.restore(backup)
			}},
		},
	},
	{
		name: "missed-deletion", what: "a watch omits a deletion", user: "a watch cache has lost an event (kubernetes/kubernetes#123072)",
		since: sinceItBegan, patience: 2 * time.Minute,
		steps: []step{post(`drop?type=DELETED`), remove("settings-05")},
	},
}

// step is a part of a fault.
type step struct {
	hand string // how to do it by hand, which -list prints; F is the address of the faults; "" if that happens anyway
	do   func(context.Context, *trial) error
}

// byHand says how to do the steps by hand.
func byHand(steps []step) string {
	var hands []string
	for _, s := range steps {
		if s.hand != "" {
			hands = append(hands, s.hand)
		}
	}
	return strings.Join(hands, ", ")
}

func doAll(ctx context.Context, t *trial, steps []step) error {
	for _, s := range steps {
		if err := s.do(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

func times(n int, steps ...step) step {
	return step{fmt.Sprintf("%d times (%s)", n, byHand(steps)), func(ctx context.Context, t *trial) error {
		for range n {
			if err := doAll(ctx, t, steps); err != nil {
				return err
			}
		}
		return nil
	}}
}

// post asks the server for a fault, as curl would. It needs no connection, which some faults close.
func post(address string) step {
	return step{"$F/" + address, func(ctx context.Context, t *trial) error {
		w := httptest.NewRecorder()
		t.server.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, faultsPath+address, nil))
		if w.Code != http.StatusOK {
			return fmt.Errorf("%s: %d %s", address, w.Code, w.Body)
		}
		return nil
	}}
}

const faultsPath = "/_faults/"

// change has others write, as they do anyway beside a server that somebody has started by hand.
var change = step{do: func(_ context.Context, t *trial) error { return t.change() }}

// poison makes an object that does not fit its type. The server has no types.
var poison = step{"create a ConfigMap whose data is a number", func(_ context.Context, t *trial) error {
	return t.write(func() error { return t.createWith("poison", 5) })
}}

func remove(name string) step {
	return step{"delete a ConfigMap", func(_ context.Context, t *trial) error {
		return t.write(func() error { return t.remove(name) })
	}}
}

func pause(d time.Duration) step {
	return step{fmt.Sprintf("wait %g s", d.Seconds()), func(ctx context.Context, _ *trial) error { return pass(ctx, d) }}
}

// during lets time pass, with changes in the middle of it.
func during(d time.Duration) step {
	return step{fmt.Sprintf("wait %g s", d.Seconds()), func(ctx context.Context, t *trial) error { return writing(ctx, t, d) }}
}

func (w *world) restore(resourceVersion string) error {
	return w.write(func() error { return w.server.Restore(apitest.Restore{ResourceVersion: resourceVersion}) })
}

// outage has nothing listen for some time. Others write meanwhile, and the server may forget what
// they have superseded.
func outage(d time.Duration, compacts bool) step {
	hand := fmt.Sprintf("$F/refuse?for=%gs", d.Seconds())
	if compacts {
		hand += "; then $F/compact"
	}
	return step{hand, func(ctx context.Context, t *trial) error {
		if err := t.server.Refuse(0); err != nil { //nolint:contextcheck // the server outlives the call
			return err
		}
		var err error
		if d > time.Second {
			err = writing(ctx, t, d)
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
	}}
}

// writing lets time pass, with changes in the middle of it.
func writing(ctx context.Context, t *trial, d time.Duration) error {
	if err := pass(ctx, d/2); err != nil {
		return err
	}
	if err := t.change(); err != nil {
		return err
	}
	return pass(ctx, d-d/2)
}

func pass(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
