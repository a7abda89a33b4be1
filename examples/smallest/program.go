package smallest

import (
	"fmt"
	"net/http"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/store"
	"github.com/relist-go/relist/trace"
)

// Object has what every object has, and the data of a ConfigMap, as an example of what else a
// program needs.
type Object struct {
	metav1.ObjectMeta `json:"metadata"`
	Data              map[string]string `json:"data"`
}

// Apply brings what is held up to date with what happened to one object. It is what the consumer of
// the queue does.
func Apply(held *store.Store[*Object], e deltafifo.Entry[*Object]) error {
	for _, d := range e.Deltas {
		apply := held.Update
		if d.Type == deltafifo.Deleted {
			apply = held.Delete
		}
		if err := apply(d.Object); err != nil {
			return err
		}
	}
	return nil
}

// program is what a trace plays: a Reflector and the consumer of its queue.
type program struct {
	Reflector
	held *store.Store[*Object]
}

// Program is the trace.Program of this client. It returns an error if a trace asks for something
// that the client does not have.
func Program(env trace.Env) (trace.Client, error) {
	has := trace.Options{
		LabelSelector: env.Options.LabelSelector, FieldSelector: env.Options.FieldSelector,
		Limit: env.Options.Limit, Coalesce: env.Options.Coalesce,
	}
	if env.Options != has || env.Saved != nil {
		return nil, fmt.Errorf("the smallest client has selectors, a limit and coalesce, and not all of %+v", env.Options)
	}
	held := store.New(store.Options[*Object]{})
	return &program{held: held, Reflector: Reflector{
		HTTP:    &http.Client{Transport: &http.Transport{DialContext: env.Dial, DisableCompression: true}},
		URL:     env.Server + env.Path,
		Query:   url.Values{"labelSelector": {has.LabelSelector}, "fieldSelector": {has.FieldSelector}},
		Limit:   has.Limit,
		Queue:   deltafifo.New(deltafifo.Options[*Object]{Known: held, Coalesce: has.Coalesce}),
		Rand:    env.Rand,
		Problem: env.Problem,
	}}, nil
}

func (p *program) Pop() (entry string, ok bool) {
	ok, _ = p.Queue.TryPop(func(e deltafifo.Entry[*Object]) error {
		entry = e.Key
		for _, d := range e.Deltas {
			entry += fmt.Sprintf(" %s@%s", d.Type, d.Object.ResourceVersion)
			if d.Tombstone != nil {
				entry += " (final state unknown)"
			}
		}
		return Apply(p.held, e)
	})
	return entry, ok
}

func (p *program) Synced() bool { return p.Queue.HasSynced() }

func (p *program) Store() (lines []string) {
	for key, obj := range p.held.All() {
		lines = append(lines, key+"@"+obj.ResourceVersion)
	}
	return lines
}

func (p *program) Close() { p.HTTP.CloseIdleConnections() }
