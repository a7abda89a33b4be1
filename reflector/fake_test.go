package reflector

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/protocol"
)

// fake is a server in memory: each call waits for the test to say what it
// answers, and notes what was asked.
type fake struct {
	asked   chan string
	lists   chan listAnswer
	asks    chan listAnswer // lists of one object
	watches chan watchAnswer
}

type listAnswer struct {
	page *source.Page[string]
	err  error
}

type watchAnswer struct {
	stream *stream
	as     source.Watch[string] // what is handed over; the stream if nil
	err    error
}

func newFake() *fake {
	return &fake{
		asked: make(chan string, 1000), lists: make(chan listAnswer), asks: make(chan listAnswer), watches: make(chan watchAnswer),
	}
}

func (f *fake) List(ctx context.Context, opts metav1.ListOptions) (*source.Page[string], error) {
	answers := f.lists
	if opts.FieldSelector != "" || opts.Limit == 1 {
		answers = f.asks
		asked := fmt.Sprintf("ask %q limit %d", opts.FieldSelector, opts.Limit)
		if opts.ResourceVersion != "" {
			asked += fmt.Sprintf(" %s %q", opts.ResourceVersionMatch, opts.ResourceVersion)
		}
		f.asked <- asked
	} else {
		f.asked <- fmt.Sprintf("list %q limit %d continue %q", opts.ResourceVersion, opts.Limit, opts.Continue)
	}
	select {
	case a := <-answers:
		return a.page, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (f *fake) Watch(ctx context.Context, opts metav1.ListOptions) (source.Watch[string], error) {
	asked := fmt.Sprintf("watch %q", opts.ResourceVersion)
	if opts.TimeoutSeconds != nil {
		asked += fmt.Sprintf(" for %ds", *opts.TimeoutSeconds)
	}
	f.asked <- asked
	select {
	case a := <-f.watches:
		if a.err != nil {
			return nil, a.err
		}
		a.stream.ctx = ctx
		if a.as != nil {
			return a.as, nil
		}
		return a.stream, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// page answers the list that is waited for.
func (f *fake) page(version string, items ...string) {
	f.lists <- listAnswer{page: &source.Page[string]{Items: items, ResourceVersion: version}}
}

// answer answers the refetch that is waited for: at version the server has the objects of
// these metas, and no other.
func (f *fake) answer(version string, metas ...object.Meta) {
	page := &source.Page[string]{ResourceVersion: version, Metas: metas}
	for _, meta := range metas {
		page.Items = append(page.Items, meta.Key)
	}
	f.asks <- listAnswer{page: page}
}

func badField(meta object.Meta) *source.ObjectError {
	return &source.ObjectError{Meta: meta, Err: errors.New("bad field")}
}

// open answers the watch that is waited for.
func (f *fake) open() *stream {
	s := &stream{events: make(chan any)}
	f.watches <- watchAnswer{stream: s}
	return s
}

// stream is a watch that the test speaks on.
type stream struct {
	ctx    context.Context //nolint:containedctx // set by the call whose stream it is
	events chan any        // source.Event[string] or error
	closed bool
}

func (s *stream) Next() (source.Event[string], error) {
	select {
	case e := <-s.events:
		if err, ok := e.(error); ok {
			return source.Event[string]{}, err
		}
		return e.(source.Event[string]), nil
	case <-s.ctx.Done():
		return source.Event[string]{}, s.ctx.Err()
	}
}

func (s *stream) Close() error {
	s.closed = true
	return nil
}

func (s *stream) event(typ object.EventType, name, version string) {
	s.events <- source.Event[string]{
		Type:   typ,
		Object: name,
		Meta:   object.Meta{Key: name, ResourceVersion: version},
	}
}

// undecodable is an event whose object cannot be decoded.
func (s *stream) undecodable(typ object.EventType, key, version string) {
	meta := object.Meta{Key: key, ResourceVersion: version}
	s.events <- source.Event[string]{Type: typ, Meta: meta, Err: badField(meta)}
}

// say sends an event, unless the client has hung up.
func (s *stream) say(e source.Event[string]) {
	select {
	case s.events <- e:
	case <-s.ctx.Done():
	}
}

// end is the bookmark that ends the initial events.
func (s *stream) end(version string) {
	s.events <- source.Event[string]{
		Type:             object.Bookmark,
		Meta:             object.Meta{ResourceVersion: version},
		InitialEventsEnd: true,
	}
}

// notes is a sink that writes down what it is told.
type notes struct {
	mu    sync.Mutex
	lines []string
	fail  map[string]error

	always map[string]error  // like fail, for every call; set before the first
	marks  bool              // note how far the sink is said to be
	hook   func(line string) // called before a line is noted
}

func (n *notes) note(format string, args ...any) error {
	line := fmt.Sprintf(format, args...)
	if n.hook != nil {
		n.hook(line)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, line)
	err := n.fail[line]
	delete(n.fail, line)
	if err == nil {
		err = n.always[line]
	}
	return err
}

// refuse makes the next call that is noted as line fail.
func (n *notes) refuse(line string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fail[line] = err
}

func (n *notes) take() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	defer func() { n.lines = nil }()
	return strings.Join(n.lines, "; ")
}

func (n *notes) Apply(c Change[string]) error {
	switch c.Op {
	case protocol.Add:
		return n.note("add %s", c.Object)
	case protocol.Update:
		return n.note("update %s", c.Object)
	case protocol.Delete:
		return n.note("delete %s", c.Object)
	case protocol.Resync:
		return n.note("resync")
	default:
		return n.note("unexpected: %v", c.Op)
	}
}

func (n *notes) BeginList(bool) Replacement[string] { return &noted{notes: n} }

func (n *notes) At(version string, _ func() Point) {
	if n.marks {
		_ = n.note("at %s", version)
	}
}

// noted is a list, which is noted at its end.
type noted struct {
	*notes
	objects []string
}

func (l *noted) Part(objects []string, _ []object.Meta) error {
	l.objects = append(l.objects, objects...)
	return nil
}

func (l *noted) End(version string, _ []string, keepAll bool) error {
	if keepAll {
		return l.note("add the list %s @%s", strings.Join(l.objects, ","), version)
	}
	return l.note("replace %s @%s", strings.Join(l.objects, ","), version)
}

func (*noted) Drop() {}

// rig is a reflector under test, in a synctest bubble.
type rig struct {
	t    *testing.T
	fake *fake
	sink *notes
	*Reflector[string]
	stop context.CancelFunc
	done chan error
}

func newRig(t *testing.T, opts Options) *rig {
	t.Helper()
	opts.Rand = func() float64 { return 0 }
	r := &rig{t: t, fake: newFake(), sink: &notes{fail: map[string]error{}}}
	r.Reflector = New(r.fake, r.sink, opts)
	r.run()
	t.Cleanup(func() { _ = r.end() })
	return r
}

func (r *rig) run() {
	ctx, cancel := context.WithCancel(r.t.Context())
	r.stop, r.done = cancel, make(chan error, 1)
	go func(done chan<- error) { done <- r.Run(ctx) }(r.done)
}

// end stops the reflector and returns what Run returned. It may be called again.
func (r *rig) end() error {
	r.stop()
	err := <-r.done
	r.done <- err
	return err
}

// expect waits for the reflector to settle and compares what it asked for.
func (r *rig) expect(want string) {
	r.t.Helper()
	synctest.Wait()
	select {
	case got := <-r.fake.asked:
		if got != want {
			r.t.Fatalf("asked for %s, want %s", got, want)
		}
	default:
		if want != "" {
			r.t.Fatalf("asked for nothing, want %s", want)
		}
	}
}

func (r *rig) told(want string) {
	r.t.Helper()
	synctest.Wait()
	if got := r.sink.take(); got != want {
		r.t.Fatalf("sink was told %q, want %q", got, want)
	}
}

// synced brings the reflector to an open watch at 10, with a and b listed.
func (r *rig) synced() *stream {
	r.t.Helper()
	r.expect(`list "0" limit 500 continue ""`)
	r.fake.page("10", "a", "b")
	r.told("replace a,b @10")
	r.expect(`watch "10" for 300s`)
	return r.fake.open()
}

// later lets virtual time pass.
func later(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// synced2 gives the list but leaves the watch unanswered.
func (r *rig) synced2() {
	r.t.Helper()
	r.expect(`list "0" limit 500 continue ""`)
	r.fake.page("10", "a", "b")
	synctest.Wait()
}

func statusErr(code int32, reason metav1.StatusReason, retryAfter int32) error {
	status := metav1.Status{Code: code, Reason: reason, Message: "message"}
	if retryAfter > 0 {
		status.Details = &metav1.StatusDetails{RetryAfterSeconds: retryAfter}
	}
	return &apierrors.StatusError{ErrStatus: status}
}

func gone() error { return statusErr(http.StatusGone, metav1.StatusReasonExpired, 0) }
