package durabletest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
)

// server is what a Mirror copies: it remembers every state that it ever had. The only selector that it knows is selected.
type server[T object.Object] struct {
	rig *rig[T]

	mu      sync.Mutex
	log     []*entry[T]   // the version of the first is 1
	past    [][]*entry[T] // the logs of servers that were restored from a backup
	floor   int           // the oldest version at which a watch can begin
	cuts    int           // how often all streams were cut
	cutWith error         // how the streams end: the error of the last cut
	uids    int
	// disputed has the keys that changed after the backup that was restored, until a Mirror has found out about the backup. Nothing
	// writes them again: a Mirror learns of a backup by asking for the newest objects that it knows, and the answer tells nothing
	// about an object that has changed since.
	disputed map[string]bool
	changed  chan struct{} // closed at the next change of anything above
}

// selected is the label selector that matches half of the objects.
const selected = "half=yes"

// entry is what happened at one version: an object was written or deleted, or, if its key is "", something of no interest.
type entry[T any] struct {
	row      Row // what was written; after a deletion, the last state, with the version of the deletion
	object   T
	gone     bool
	ill      bool // it cannot be decoded
	selected bool
	before   *entry[T] // of the same object; nil if it is new
}

var errIll = errors.New("the object cannot be decoded, because the test wants it so")

func newServer[T object.Object](r *rig[T]) *server[T] {
	return &server[T]{rig: r, changed: make(chan struct{})}
}

func (s *server[T]) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
	close(s.changed)
	s.changed = make(chan struct{})
}

// put writes an object. If ill, it cannot be decoded.
func (s *server[T]) put(key string, isSelected, ill bool) {
	s.change(func() {
		if s.disputed[key] {
			return
		}
		e := &entry[T]{selected: isSelected, ill: ill, before: s.last(key)}
		meta := listwatch.Meta{Key: key, ResourceVersion: strconv.Itoa(len(s.log) + 1)}
		if e.before == nil {
			s.uids++
			meta.UID = types.UID(fmt.Sprintf("uid-%d", s.uids))
		} else {
			meta.UID = e.before.row.Meta.UID
		}
		// The life of the server is in the object, so that two lives differ at the same version.
		e.object = s.rig.object(meta, fmt.Sprintf(`"data":{"selected":"%t","version":"%s","life":"%d"}`, isSelected, meta.ResourceVersion, len(s.past)))
		e.row = s.rig.row(meta, e.object)
		s.log = append(s.log, e)
	})
}

// remove deletes an object, if there is one.
func (s *server[T]) remove(key string) {
	s.change(func() {
		before := s.last(key)
		if before == nil || s.disputed[key] {
			return
		}
		e := &entry[T]{row: before.row, ill: before.ill, selected: before.selected, gone: true, before: before}
		e.row.Meta.ResourceVersion = strconv.Itoa(len(s.log) + 1)
		e.object = s.rig.object(e.row.Meta, "")
		s.log = append(s.log, e)
	})
}

// pass makes a version at which nothing of interest happens. Streams get a bookmark.
func (s *server[T]) pass() { s.change(func() { s.log = append(s.log, &entry[T]{}) }) }

// forget cuts all streams. After it, no watch can begin at a version before the present one.
func (s *server[T]) forget() {
	s.change(func() { s.floor, s.cuts, s.cutWith = len(s.log), s.cuts+1, expired() })
}

// cut ends all streams, as if the server went away. After that, a reflector needs half a second or more to make sure that the server is the same.
func (s *server[T]) cut() { s.change(func() { s.cuts, s.cutWith = s.cuts+1, io.EOF }) }

// restore takes the server back to an older version, as if from a backup, which is before the newest object that the Copy knows.
// Otherwise no Mirror could find out about it. No stream may be open.
func (s *server[T]) restore(back int, known reflector.Point) {
	if len(known.Newest) == 0 {
		return
	}
	newest, err := strconv.Atoi(known.Newest[0].Meta.ResourceVersion)
	if err != nil {
		s.rig.Fatalf("the newest object of a point has the version %q, which is not of this server", known.Newest[0].Meta.ResourceVersion)
	}
	s.change(func() {
		s.past = append(s.past, s.log)
		at := max(0, min(len(s.log)-back, newest-1))
		if s.disputed == nil {
			s.disputed = map[string]bool{}
		}
		for _, e := range s.log[at:] {
			s.disputed[e.row.Meta.Key] = true
		}
		s.log = slices.Clone(s.log[:at])
		s.floor = min(s.floor, len(s.log))
	})
}

// noticed says that each Mirror knows of the restored backup.
func (s *server[T]) noticed() { s.change(func() { s.disputed = nil }) }

// last returns the entry of an object that exists. It needs mu.
func (s *server[T]) last(key string) *entry[T] {
	for _, e := range slices.Backward(s.log) {
		if e.row.Meta.Key == key {
			if e.gone {
				return nil
			}
			return e
		}
	}
	return nil
}

// present returns the newest version.
func (s *server[T]) present() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strconv.Itoa(len(s.log))
}

// at returns the objects that existed at a version of a log, by key.
func (s *server[T]) at(log []*entry[T], version int, selector string) map[string]*entry[T] {
	state := map[string]*entry[T]{}
	for _, e := range log[:version] {
		switch key := e.row.Meta.Key; {
		case key == "":
		case e.gone, selector == selected && !e.selected:
			delete(state, key)
		default:
			state[key] = e
		}
	}
	return state
}

// states returns what the rows may be at a version: one state for each life of the server that had the version.
func (s *server[T]) states(version, selector string) (states []map[string]Row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := strconv.Atoi(version)
	for _, log := range append([][]*entry[T]{s.log}, s.past...) {
		if err != nil || n > len(log) {
			continue
		}
		rows := map[string]Row{}
		for key, e := range s.at(log, n, selector) {
			rows[key] = e.row
		}
		states = append(states, rows)
	}
	return states
}

// illKeys returns the keys of the objects that cannot be decoded now.
func (s *server[T]) illKeys(selector string) (keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.at(s.log, len(s.log), selector)
	for _, key := range sortedKeys(state) {
		if state[key].ill {
			keys = append(keys, key)
		}
	}
	return keys
}

// listWatcher returns a ListWatcher with a selector.
func (s *server[T]) listWatcher(selector string) listwatch.ListWatcher[T] {
	return listwatch.Funcs[T]{
		ListFunc: func(ctx context.Context, opts metav1.ListOptions) (*listwatch.Page[T], error) {
			return s.list(ctx, selector, opts)
		},
		WatchFunc: func(ctx context.Context, opts metav1.ListOptions) (listwatch.Watch[T], error) {
			return s.watch(ctx, selector, opts)
		},
	}
}

func refused(code int32, reason metav1.StatusReason, message string) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
}

func expired() error {
	return refused(http.StatusGone, metav1.StatusReasonExpired, "too old resource version")
}

func tooLarge() error {
	err := refused(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "Too large resource version")
	err.ErrStatus.Details = &metav1.StatusDetails{Causes: []metav1.StatusCause{{
		Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version",
	}}}
	return err
}

// list answers with the present state, with an earlier one that is asked for, or with the next page of one.
func (s *server[T]) list(ctx context.Context, selector string, opts metav1.ListOptions) (*listwatch.Page[T], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	version, offset := len(s.log), 0
	if opts.Continue != "" {
		if _, err := fmt.Sscanf(opts.Continue, "%d/%d", &version, &offset); err != nil || version < s.floor || version > len(s.log) {
			return nil, expired()
		}
	} else if asked, err := strconv.Atoi(opts.ResourceVersion); err == nil {
		exact := opts.ResourceVersionMatch == metav1.ResourceVersionMatchExact
		switch {
		case asked > version:
			return nil, tooLarge()
		case exact && asked < s.floor:
			return nil, expired()
		case exact:
			version = asked
		}
	}
	state := s.at(s.log, version, selector)
	keys := sortedKeys(state)
	if key := singleKey(opts.FieldSelector); key != "" {
		keys = slices.DeleteFunc(keys, func(k string) bool { return k != key })
	}
	page := &listwatch.Page[T]{ResourceVersion: strconv.Itoa(version)}
	keys = keys[min(offset, len(keys)):]
	if limit := int(opts.Limit); limit > 0 && limit < len(keys) {
		keys = keys[:limit]
		page.Continue = fmt.Sprintf("%d/%d", version, offset+limit)
	}
	for _, key := range keys {
		if e := state[key]; e.ill {
			page.Errors = append(page.Errors, &listwatch.ObjectError{Meta: e.row.Meta, Err: errIll})
		} else {
			page.Items, page.Metas = append(page.Items, e.object), append(page.Metas, e.row.Meta)
		}
	}
	return page, nil
}

// singleKey returns the key that a field selector of one object asks for.
func singleKey(selector string) string {
	var namespace, name string
	for _, term := range strings.Split(selector, ",") {
		if value, ok := strings.CutPrefix(term, "metadata.namespace="); ok {
			namespace = value + "/"
		}
		if value, ok := strings.CutPrefix(term, "metadata.name="); ok {
			name = value
		}
	}
	return namespace + name
}

// watch opens a stream.
func (s *server[T]) watch(ctx context.Context, selector string, opts metav1.ListOptions) (listwatch.Watch[T], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from, err := strconv.Atoi(opts.ResourceVersion)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case opts.SendInitialEvents != nil || err != nil:
		return nil, refused(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "want a resourceVersion")
	case from > len(s.log):
		return nil, tooLarge()
	case from < s.floor:
		return nil, expired()
	}
	return &serverStream[T]{s: s, done: ctx.Done(), err: ctx.Err, selector: selector, at: from, cuts: s.cuts, closed: make(chan struct{})}, nil
}

// serverStream is a watch of a server.
type serverStream[T object.Object] struct {
	s        *server[T]
	done     <-chan struct{}
	err      func() error
	selector string
	at       int
	cuts     int
	once     sync.Once
	closed   chan struct{}
}

// Next implements listwatch.Watch.
func (st *serverStream[T]) Next() (listwatch.Event[T], error) {
	for {
		event, changed, err := st.next()
		if err != nil || changed == nil {
			return event, err
		}
		select {
		case <-changed:
		case <-st.closed:
			return event, io.ErrUnexpectedEOF
		case <-st.done:
			return event, st.err()
		}
	}
}

// Ready implements source.Readier.
func (st *serverStream[T]) Ready() bool {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	return st.at < len(st.s.log) && st.cuts == st.s.cuts
}

// next returns the next event, or what to wait for.
func (st *serverStream[T]) next() (event listwatch.Event[T], changed <-chan struct{}, err error) {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	switch {
	case st.cuts != st.s.cuts:
		return event, nil, st.s.cutWith
	case st.at >= len(st.s.log):
		return event, st.s.changed, nil
	}
	e := st.s.log[st.at]
	st.at++
	return eventOf(e, st.at, st.selector), nil, nil
}

// eventOf returns the event of an entry, for a selector.
func eventOf[T any](e *entry[T], version int, selector string) listwatch.Event[T] {
	sees := func(e *entry[T]) bool {
		return e != nil && e.row.Meta.Key != "" && !e.gone && (selector == "" || e.selected)
	}
	event := listwatch.Event[T]{Meta: e.row.Meta, Object: e.object}
	switch is, was := sees(e), sees(e.before); {
	case is && was:
		event.Type = listwatch.Modified
	case is:
		event.Type = listwatch.Added
	case was:
		event.Type = listwatch.Deleted
	default:
		return listwatch.Event[T]{Type: listwatch.Bookmark, Meta: listwatch.Meta{ResourceVersion: strconv.Itoa(version)}}
	}
	if e.ill {
		var none T
		event.Object, event.Err = none, &listwatch.ObjectError{Meta: event.Meta, Err: errIll}
	}
	return event
}

// Close implements listwatch.Watch.
func (st *serverStream[T]) Close() error {
	st.once.Do(func() { close(st.closed) })
	return nil
}
