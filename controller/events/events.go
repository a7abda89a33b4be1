// Package events writes Events, which tell people what a controller did: `kubectl describe` prints
// them below the object. No program should depend on them, because the server deletes them after an
// hour, and some are never written: see [Recorder.Event].
//
//	rec, err := events.New(client, events.Options{Controller: "example.com/shop-operator"})
//	go rec.Run(ctx) // wait for it in the end: it sends the last counts
//	rec.Event(shop, shopType, events.Normal, "Published", "Write", "published %d prices", n)
package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/relist-go/relist/controller/writer"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

// The types of Events, which the server knows.
const (
	Normal  = "Normal"
	Warning = "Warning"
)

const (
	memory      = 10 * time.Minute // a series ends after that time without an Event
	maxSeries   = 4096             // more than there are requests in that time
	maxOfObject = 10               // and one more for each reason
	maxNote     = 1024             // bytes, for kube-apiserver

	// Between two requests for a series is as much time as it has lasted, within these bounds: who
	// looks again after some seconds sees a higher count, and what goes on for hours costs one
	// request in five minutes. With each, the server keeps the Event for another hour.
	shortestWait, longestWait = 10 * time.Second, 5 * time.Minute

	gap, burst = 200 * time.Millisecond, 100 // of requests; client-go's default is 5 a second, too
	longestEnd = 5 * time.Second             // of Run
)

// Options of a [Recorder].
type Options struct {
	// Controller is what `kubectl describe` prints below From, such as example.com/shop-operator.
	Controller string

	// Logger is told at Warn how many Events were lost, and the latest error: at most every ten
	// minutes, and when Run ends. If nil, slog.Default() is used.
	Logger *slog.Logger
}

// Recorder writes Events. Several goroutines may use it.
type Recorder struct {
	opts   Options
	host   string
	writer *writer.Writer[*unstructured.Unstructured]
	wake   chan struct{} // there is something to send; mu is held by who says so
	told   time.Time     // when Run has logged what was lost

	mu     sync.Mutex
	all    []*series
	byWhat map[what]*series
	latest time.Time // when the latest series began
	next   time.Time // no request begins sooner
	lost   int       // since told
	err    error     // the latest
}

// what the Events of a series have in common. With the resourceVersion, few would be equal.
type what struct {
	of                   object.Type
	namespace, name, uid string
	typ, reason, action  string
	note                 string
}

// series is an Event and its repetitions: one object on the server.
type series struct {
	what
	began, last time.Time
	count, sent int
	due         time.Time // no request begins sooner
}

// New returns a Recorder. It needs the verbs create and patch for events.events.k8s.io.
func New(client *transport.Client, opts Options) (*Recorder, error) {
	opts.Logger = cmp.Or(opts.Logger, slog.Default())
	host, err := os.Hostname()
	if wrong := validation.IsQualifiedName(opts.Controller); len(wrong) > 0 {
		err = fmt.Errorf("the Controller %q: %s", opts.Controller, strings.Join(wrong, "; "))
	}
	if err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	w, err := writer.New[*unstructured.Unstructured](client, object.Type{Group: "events.k8s.io", Version: "v1", Resource: "events", Kind: "Event"}, writer.Options{})
	return &Recorder{opts: opts, host: host, writer: w, wake: make(chan struct{}, 1), byWhat: map[what]*series{}}, err
}

// Event tells people what was done to an object. typ is Normal or Warning; reason and action say in
// one word why it was done, and what; note is a sentence.
//
// Event does not wait, and has no error, because [Recorder.Run] sends the Event. If an equal one
// came in the last ten minutes, only a count is raised. It is sent ten seconds after the first
// request, and then less and less often, down to once in five minutes. If the object has had ten
// different Events in ten minutes, the further ones of a reason are counted together. An Event is
// lost if the server refuses it, or is away for ten minutes, or if 4,096 are remembered.
func (r *Recorder) Event(regarding object.Object, of object.Type, typ, reason, action, note string, args ...any) {
	e := what{of, regarding.GetNamespace(), regarding.GetName(), string(regarding.GetUID()), typ, reason, action, fmt.Sprintf(note, args...)}
	e.note = strings.Clone(strings.ToValidUTF8(e.note[:min(len(e.note), maxNote)], "")) // so that the rest of a long one is free
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	s := r.seriesOf(e, now)
	if s == nil {
		r.lost, r.err = r.lost+1, errors.New("there are too many different Events")
		return
	}
	if s.count == s.sent && len(r.wake) == 0 {
		r.wake <- struct{}{}
	}
	s.count, s.last = s.count+1, now
}

// seriesOf returns the series that counts an Event, or nil if there are too many.
func (r *Recorder) seriesOf(e what, now time.Time) *series {
	if s := r.byWhat[e]; s != nil {
		return s
	}
	n := 0
	for _, s := range r.all {
		if s.name == e.name && s.namespace == e.namespace && s.of == e.of {
			n++
		}
	}
	if n >= maxOfObject {
		e.note = "(further Events of this reason)"
	}
	if s := r.byWhat[e]; s != nil || len(r.all) >= maxSeries {
		return s
	}
	s := &series{what: e, began: now, due: now}
	if !now.After(r.latest) {
		s.began = r.latest.Add(1) // so that no two have one name
	}
	r.latest, r.all, r.byWhat[e] = s.began, append(r.all, s), s
	return s
}

// Run sends Events until ctx ends, and returns ctx.Err(). While the server is away, Run asks it
// every ten seconds. Before Run returns, it sends what waits, for at most five seconds. Call it
// once.
func (r *Recorder) Run(ctx context.Context) error {
	r.send(ctx, false)
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestEnd)
	defer cancel()
	r.send(end, true)
	r.due(end, time.Now().Add(memory), true) // forgets all, and tells it
	return ctx.Err()
}

// send sends what is due until ctx ends. When Run ends, everything is due, and send returns after
// the last request.
func (r *Recorder) send(ctx context.Context, ending bool) {
	for ctx.Err() == nil {
		s, wait := r.due(ctx, time.Now(), ending)
		switch {
		case s != nil && wait <= 0:
			r.write(ctx, s)
		case s == nil && ending:
			return
		default:
			select {
			case <-time.After(wait):
			case <-r.wake:
			case <-ctx.Done():
			}
		}
	}
}

// due returns the series to send next, and how long that takes. It forgets the old ones, and logs
// what was lost.
func (r *Recorder) due(ctx context.Context, now time.Time, ending bool) (first *series, wait time.Duration) {
	r.mu.Lock()
	r.all = slices.DeleteFunc(r.all, func(s *series) bool {
		if now.Sub(s.last) >= memory {
			r.lost += s.count - s.sent
			delete(r.byWhat, s.what)
			return true
		}
		if s.count > s.sent && (first == nil || s.due.Before(first.due)) {
			first = s
		}
		return false
	})
	switch wait = r.next.Sub(now); {
	case first == nil:
		wait = memory
	case !ending:
		wait = max(wait, first.due.Sub(now))
	}
	lost, err := 0, r.err
	if now.Sub(r.told) >= memory {
		lost, r.lost = r.lost, 0
	}
	r.mu.Unlock()
	if lost > 0 {
		r.told = now
		r.opts.Logger.WarnContext(ctx, "relist: events lost", "count", lost, "error", err)
	}
	return first, wait
}

// write sends a series as it is now.
func (r *Recorder) write(ctx context.Context, s *series) {
	r.mu.Lock()
	count, sent, repeated := s.count, s.sent, map[string]any{"count": s.count, "lastObservedTime": metav1.NewMicroTime(s.last)}
	r.mu.Unlock()
	namespace, suffix := cmp.Or(s.namespace, metav1.NamespaceDefault), "."+strconv.FormatInt(s.began.UnixNano(), 16)
	name := s.name + suffix
	if len(validation.IsDNS1123Subdomain(name)) > 0 { // too long, or such as system:node
		name = strings.ToLower(s.of.Kind) + suffix
	}
	var err error
	if sent > 0 {
		_, err = r.writer.MergePatch(ctx, namespace+"/"+name, map[string]any{"series": repeated})
	}
	if sent == 0 || apierrors.IsNotFound(err) { // the server has deleted it
		event := map[string]any{
			"metadata": map[string]any{"namespace": namespace, "name": name},
			"regarding": map[string]any{
				"apiVersion": s.of.GroupVersionKind().GroupVersion().String(), "kind": s.of.Kind,
				"namespace": s.namespace, "name": s.name, "uid": s.uid,
			},
			"type": s.typ, "reason": s.reason, "action": s.action, "note": s.note,
			"eventTime": metav1.NewMicroTime(s.began), "reportingController": r.opts.Controller, "reportingInstance": r.host,
		}
		if count > 1 {
			event["series"] = repeated
		}
		_, err = r.writer.Create(ctx, &unstructured.Unstructured{Object: event})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.next = r.next.Add(gap); now.Sub(r.next) > burst*gap {
		r.next = now.Add(-burst * gap)
	}
	s.due = now.Add(min(max(now.Sub(s.began), shortestWait), longestWait))
	var answer apierrors.APIStatus
	switch {
	case err == nil:
		s.sent = count
	case apierrors.IsAlreadyExists(err): // made by a request that got no answer
		s.sent, s.due = 1, now
	case errors.As(err, &answer) && answer.Status().Code < 500 && !apierrors.IsTooManyRequests(err) && !apierrors.IsUnauthorized(err):
		r.lost, r.err, s.sent = r.lost+count-s.sent, err, count
	case ctx.Err() == nil: // the server is away
		seconds, _ := apierrors.SuggestsClientDelay(err)
		r.next, r.err = now.Add(max(shortestWait, min(time.Duration(seconds)*time.Second, longestWait))), err
		s.due = now.Add(time.Minute) // it may be this Event alone that the server fails at
	}
}
