// Package smallest is the smallest client of list and watch that loses nothing: net/http, JSON, a
// queue, a store, and one goroutine.
//
//	Run -> list  -> pages  -> get    the whole state, and its version
//	    -> watch -> events -> get    the changes after that version
//	    -> next                      which request follows, and when
//
// docs/smallest-client.md walks through it, and says what it cannot do.
package smallest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/object"
)

// Reflector keeps a queue up to date with one collection of a server.
type Reflector struct {
	HTTP    *http.Client
	URL     string     // of the collection
	Query   url.Values // of every request, such as labelSelector
	Limit   int        // of the objects of a page; if zero, 500, and lists at a version are whole
	Queue   *deltafifo.Queue[*Object]
	Rand    func() float64                     // from [0, 1)
	Problem func(class, key string, err error) // what somebody may have to know

	// Which request is next.
	listed     bool   // a watch after version; otherwise a list
	version    string // the queue knows everything up to here; "" before the first list
	mostRecent bool   // that list is not at version, because this was no help
	paged      bool   // that list is in pages, because the server has no watch cache

	// When it is sent.
	afterAnswer, afterRefusal int  // places in the schedules of delays
	failures                  int  // of watches in a row that brought nothing; an end counts twice
	reopened                  bool // a watch that ended soon was opened again at once
	outage                    bool // the server was away, and all its clients come back
}

// Run lists and watches until ctx ends. Called again, it continues.
func (r *Reflector) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		request := r.list
		if r.listed {
			request = r.watch
		}
		if err := request(ctx); ctx.Err() == nil {
			select {
			case <-time.After(r.next(err)):
			case <-ctx.Done():
			}
		}
	}
	return ctx.Err()
}

// next decides which request follows, and returns how long to wait. A watch continues where the one
// before ended. A list is only for a version that the server does not have, or may not have.
func (r *Reflector) next(err error) (delay time.Duration) {
	c, isRefused := code(err), errors.Is(err, syscall.ECONNREFUSED)
	// In seconds. A refused connection costs the server nothing. An answer does: three quick tries
	// for what passes by itself, and then fewer and fewer.
	schedule, place, spread := []float64{.8, .8, .8, 1.2, 4, 4, 8, 16, 30}, &r.afterAnswer, 0.0
	if isRefused {
		schedule, place = []float64{.8, 1.6, 2.5}, &r.afterRefusal
	}
	switch {
	case err == nil:
		return 0
	case noSuchVersion(err) && r.listed:
		r.listed = false
		if r.outage { // all its clients list now, but not at once
			schedule, place, spread = []float64{0}, new(int), 7
		}
	case noSuchVersion(err) && !r.mostRecent:
		r.mostRecent = true // which is never too old, nor too new
		return 0
	case !r.listed:
		r.Problem("list", "", err)
	case errors.Is(err, errEnd):
		r.failures += 2
	case isRefused, c == 429, c == 502, c == 503, c == 504:
		r.outage = true
	case c == 401, c == 403, c == 404:
		r.Problem("watch", "", err) // and no list would help
	default:
		r.Problem("watch", "", err)
		r.failures++
	}
	r.listed = r.listed && r.failures < 3 // the server may not have the version, and not say so
	least := schedule[min(*place, len(schedule)-1)]
	*place++
	after, _ := apierrors.SuggestsClientDelay(err)
	// The random part is for clients that failed together, so that they do not come back together.
	seconds := max(least, float64(min(after, 3600))) + r.Rand()*max(least, spread)
	return time.Duration(seconds * float64(time.Second))
}

// list replaces what the queue knows by the whole state. The queue finds out what is gone.
func (r *Reflector) list(ctx context.Context) error {
	version := cmp.Or(r.version, "0") // the first state may be of any age
	if r.mostRecent {
		version = ""
	}
	items, at, err := r.pages(ctx, version)
	if err != nil {
		return err
	}
	if object.Older(at, r.version) {
		r.Problem("version", "", fmt.Errorf("a list at %s, after %s", at, r.version))
		if !r.mostRecent {
			r.mostRecent = true // what is gone must not come back
			return nil
		}
	}
	if err = r.Queue.Replace(items, at); err == nil {
		r.mostRecent = at == r.version // if a list is needed again, this one was no help
		r.version, r.listed, r.failures, r.outage = at, true, 0, false
	}
	return err
}

// pages asks for a list, whole or in pages that are all of one state.
func (r *Reflector) pages(ctx context.Context, version string) (items []*Object, at string, err error) {
	limit := strconv.Itoa(cmp.Or(r.Limit, 500))
	if r.Limit == 0 && !r.paged && !object.IsAnyVersion(version) {
		limit = "" // with one, the list is of exactly this version, which may be the one that was no help
	}
	for first, token := version, ""; ; {
		var page struct {
			metav1.TypeMeta `json:",inline"`
			metav1.ListMeta `json:"metadata"`
			Items           []*Object
		}
		query := url.Values{"resourceVersion": {first}, "limit": {limit}, "continue": {token}}
		err := r.get(ctx, query, 2*time.Minute, func(body io.Reader) error {
			text, err := io.ReadAll(body) // to the end, so that the connection is used again
			return errors.Join(err, json.Unmarshal(text, &page))
		})
		switch {
		case token != "" && noSuchVersion(err):
			items, first, token, limit = nil, version, "", "" // nobody can complete these pages
			continue
		case err != nil:
			return nil, "", err
		case slices.Contains(page.Items, nil):
			return nil, "", errors.New("a list with an item that is null")
		case !strings.HasSuffix(page.Kind, "List"), page.ResourceVersion == "", token != "" && token == page.Continue:
			return nil, "", fmt.Errorf("a %s at %q that continues at %q", page.Kind, page.ResourceVersion, page.Continue)
		}
		items, token = append(items, page.Items...), page.Continue
		if token == "" {
			return items, page.ResourceVersion, nil
		}
		r.paged = r.paged || first == "0" // a watch cache ignores the limit
		first = ""                        // the token has it
	}
}

var errEnd = errors.New("the end of the stream") // between two events, or in the middle of one

// watch tells the queue what has changed. It returns nil if the next watch may begin at once.
func (r *Reflector) watch(ctx context.Context) error {
	began, before, open := time.Now(), r.version, false
	timeout := 300 + int(300*r.Rand()) // so that the watches of many clients do not end together
	ctx, cancel := context.WithTimeout(ctx, time.Duration(timeout+10)*time.Second)
	defer cancel()
	err := r.get(ctx, url.Values{
		"watch": {"true"}, "resourceVersion": {r.version}, "allowWatchBookmarks": {"true"}, "timeoutSeconds": {strconv.Itoa(timeout)},
	}, 90*time.Second, func(body io.Reader) error {
		open = true
		return r.events(body)
	})
	healthy, progress := open && time.Since(began) >= 10*time.Second, r.version != before
	if healthy {
		r.afterAnswer, r.afterRefusal, r.failures, r.outage = 0, 0, 0, false
		r.reopened = false
	}
	if errors.Is(err, errEnd) && (healthy || progress && !r.reopened) {
		r.reopened = !healthy
		return nil
	}
	return err
}

// events tells the queue of each event of a stream, until the stream ends.
func (r *Reflector) events(body io.Reader) error {
	for d := json.NewDecoder(body); ; {
		var e metav1.WatchEvent
		if err := d.Decode(&e); errors.As(err, new(*json.SyntaxError)) || errors.As(err, new(*json.UnmarshalTypeError)) {
			return err // no JSON, or no event
		} else if err != nil {
			return errEnd
		}
		if err := r.apply(e.Type, e.Object.Raw); err != nil {
			return err
		}
	}
}

// apply tells the queue what an event says. If it fails, version stays, and the event comes again.
func (r *Reflector) apply(event string, raw []byte) error {
	obj := &Object{}
	err := json.Unmarshal(raw, obj)
	key, v := object.Key(obj), obj.ResourceVersion
	held, isHeld := r.Queue.Get(key)
	switch {
	case event == "ERROR":
		answer := &apierrors.StatusError{}
		err = errors.Join(json.Unmarshal(raw, &answer.ErrStatus), answer)
	case err != nil, event == "BOOKMARK": // which is nothing but a version
	case event == "DELETED":
		err = r.Queue.Delete(obj)
	case isHeld && object.DifferentUID(held.UID, obj.UID): // the held one is gone, and nobody said so
		err = errors.Join(r.Queue.DeleteInferred(held), r.Queue.Add(obj))
	case event == "ADDED":
		err = r.Queue.Add(obj)
	case event == "MODIFIED":
		err = r.Queue.Update(obj)
	default:
		err = fmt.Errorf("an event of type %s", event)
	}
	switch {
	case err != nil:
	case object.IsAnyVersion(v), object.IsComparable(r.version) && object.Newer(r.version, v) != v:
		r.Problem("version", strings.Trim(key, "/"), fmt.Errorf("%s at %q, after %s", event, v, r.version))
	default:
		r.version, r.failures = v, 0
	}
	return err
}

// get sends a request and reads the answer. It gives up if nothing comes for a while.
func (r *Reflector) get(ctx context.Context, query url.Values, patience time.Duration, read func(io.Reader) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(patience, func() { cancel(fmt.Errorf("nothing came for %s", patience)) })
	defer idle.Stop()
	maps.Copy(query, r.Query)
	maps.DeleteFunc(query, func(name string, _ []string) bool { return query.Get(name) == "" })
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := r.HTTP.Do(req)
	if err != nil {
		return err
	}
	// A stream that goes on is ended before Close, which since Go 1.27 reads on for a while.
	defer func() { cancel(nil); _ = resp.Body.Close() }()
	body := reader(func(p []byte) (int, error) {
		idle.Reset(patience) // somebody reads, who has got what came before
		return resp.Body.Read(p)
	})
	if resp.StatusCode == http.StatusOK {
		return read(body)
	}
	status := metav1.Status{Message: resp.Status} // a proxy sends none
	text, _ := io.ReadAll(body)
	_ = json.Unmarshal(text, &status)
	after, _ := strconv.ParseInt(resp.Header.Get("Retry-After"), 10, 32)
	status.Code, status.Details = int32(resp.StatusCode), cmp.Or(status.Details, &metav1.StatusDetails{})
	status.Details.RetryAfterSeconds = max(status.Details.RetryAfterSeconds, int32(after))
	return &apierrors.StatusError{ErrStatus: status}
}

type reader func(p []byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }

// code returns the code of an answer or of an ERROR event, and 0 for another error.
func code(err error) int32 {
	answer := &apierrors.StatusError{}
	_ = errors.As(err, &answer)
	return answer.ErrStatus.Code
}

// noSuchVersion: the server has forgotten the version (410), or has not reached it (504).
func noSuchVersion(err error) bool {
	return code(err) == 410 || code(err) == 504 && strings.Contains(err.Error(), "Too large resource version")
}
