package relay

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"
	"weak"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/internal/listoptions"
	"github.com/relist-go/relist/server/watchcache"
)

var noResource schema.GroupResource

func (r *Relay) serveResource(w http.ResponseWriter, req *http.Request, user *User, u *upstream, t target) error {
	query := req.URL.Query()
	opts := &internalversion.ListOptions{} // of an object: the parameters of lists are ignored
	if t.name == "" {
		var err error
		if opts, err = listoptions.Parse(query); err != nil {
			return err
		}
	}
	a := Attributes{Verb: "list", Group: u.Group, Version: u.Version, Resource: u.Resource.Resource, Namespace: t.namespace, Name: t.name}
	sel := watchcache.Selection{Namespace: t.namespace, Labels: opts.LabelSelector, Fields: opts.FieldSelector}
	switch name, named := sel.Name(); {
	case t.name != "":
		a.Verb = "get" // a watch of one object is one of the collection with a field selector
		if u.Group == "" && u.Resource.Resource == "namespaces" {
			a.Namespace = t.name // so that a Role in a namespace can allow to read it, as at kube-apiserver
		}
	case named:
		a.Name = name
	}
	if t.name == "" {
		if opts.Watch {
			a.Verb = "watch"
		}
		a.LabelSelector, a.FieldSelector = query.Get("labelSelector"), query.Get("fieldSelector")
	}
	if err := r.allow(req.Context(), user, a); err != nil {
		return err
	}
	g := r.newGuard(req, user, a, u)
	if err := r.checkAge(w, u); err != nil {
		return err
	}
	if a.Verb == "watch" {
		u.watches.Add(1)
		defer u.watches.Add(-1)
	}
	f := negotiate(req, u, a.Verb)
	judged := t.name != "" || opts.ShardSelector == "" && (opts.FieldSelector == nil || u.feed.fields.judges(opts.FieldSelector))
	switch {
	case f == nil, !judged:
	case a.Verb == "get":
		if o, err := u.get(req.Context(), t, query); !errors.Is(err, watchcache.ErrNotCached) {
			if err == nil {
				writeObject(r.newReply(w, req), f, o)
			}
			return err
		}
	case a.Verb == "list":
		page, err := u.list(req.Context(), watchcache.Query{
			Selection: sel, Limit: opts.Limit, Continue: opts.Continue,
			ResourceVersion: opts.ResourceVersion, ResourceVersionMatch: opts.ResourceVersionMatch,
		})
		if !errors.Is(err, watchcache.ErrNotCached) {
			if err == nil {
				writeList(r.newReply(w, req), f, page)
			}
			return err
		}
	default:
		return r.watch(w, g, sel, f, opts) //nolint:contextcheck // the guard has the request
	}
	return r.ask(w, g, t, query) //nolint:contextcheck // the guard has the request
}

// list returns a list from the cache. The first page of a list of the most recent state comes from
// the upstream, and may be newer than the cache, for minutes if nothing of this type changes: then
// the next pages come from there, too.
func (u *upstream) list(ctx context.Context, q watchcache.Query) (*watchcache.Page, error) {
	if q.Continue != "" {
		if token, err := watchcache.ParseToken(q.Continue, q.Prefix()); err == nil && token.Version > u.cache.Version() {
			return nil, watchcache.ErrNotCached
		}
	}
	return u.cache.List(ctx, q)
}

// get returns an object from the cache, if the request says which version is new enough.
func (u *upstream) get(ctx context.Context, t target, query url.Values) (*state, error) {
	asked := query.Get("resourceVersion")
	if asked == "" {
		return nil, watchcache.ErrNotCached
	}
	version, err := watchcache.ParseVersion(asked)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	key := t.name
	if t.namespace != "" {
		key = t.namespace + "/" + t.name
	}
	o, err := u.cache.Get(ctx, key, version)
	switch {
	case err != nil:
		return nil, err
	case o == nil:
		return nil, apierrors.NewNotFound(u.GroupResource(), t.name)
	}
	return o.(*state), nil
}

func writeObject(out *reply, f *form, o *state) {
	defer out.finish()
	out.Header().Set("Content-Type", "application/json")
	_, _ = out.Write(append(f.appendObject(nil, o), '\n')) // an error is a client that hung up
}

func writeList(out *reply, f *form, p *watchcache.Page) {
	defer out.finish()
	out.Header().Set("Content-Type", "application/json")
	b := f.listHead(p)
	objects := letGo(p.Objects)
	p.Objects = nil
	for i, one := range objects {
		o := one.Value()
		if o == nil {
			panic(http.ErrAbortHandler) // so that the client sees that the list is cut off
		}
		if i > 0 {
			b = append(b, ',')
		}
		if b = f.appendItem(b, o); len(b) > gzipFrom { // the first write decides whether a list is compressed
			if _, err := out.Write(b); err != nil {
				return // the client hung up
			}
			b = b[:0]
		}
	}
	_, _ = out.Write(append(b, "]}\n"...))
}

// letGo returns the objects of an answer so that they do not stay in memory because a reader is
// slow. An object can be gone once it has left the states and the window of the cache: then the
// answer ends, as a watch does whose reader the window has passed.
func letGo(objects []watchcache.Object) []weak.Pointer[state] {
	all := make([]weak.Pointer[state], len(objects))
	for i, o := range objects {
		all[i] = weak.Make(o.(*state))
	}
	return all
}

const (
	// bookmarkPeriod is the time between two bookmarks of a watch, up to a quarter less.
	// bookmarkLead is how long before its timeout a watch gets a last one. So does kube-apiserver.
	bookmarkPeriod = time.Minute
	bookmarkLead   = 2 * time.Second

	// watchTimeout is how long a watch lasts if the client names no time, up to twice as long, as
	// at kube-apiserver.
	watchTimeout = 30 * time.Minute

	// writeTimeout is how long a reader may take for what is written to it at once.
	writeTimeout = time.Minute

	// watchBatch is the number of changes that are looked at before the events among them are
	// flushed.
	watchBatch = 64
)

// jittered returns a time up to a quarter shorter, so that the bookmarks of many watches do not
// come together.
func jittered(d time.Duration) time.Duration { return d - time.Duration(rand.Int64N(int64(d)/4)) }

// watch answers a watch. If it returns an error, nothing was sent.
func (r *Relay) watch(w http.ResponseWriter, g *guard, sel watchcache.Selection, f *form, opts *internalversion.ListOptions) error {
	req, u := g.req, g.u
	version, err := watchcache.ParseVersion(opts.ResourceVersion)
	if err != nil {
		return apierrors.NewBadRequest("invalid resource version: " + err.Error())
	}
	q := watchcache.WatchQuery{Selection: sel, Version: version, Wait: opts.SendInitialEvents != nil}
	q.Initial = q.Wait && *opts.SendInitialEvents
	timeout := watchTimeout + time.Duration(rand.Int64N(int64(watchTimeout)))
	if opts.TimeoutSeconds != nil && *opts.TimeoutSeconds > 0 {
		timeout = time.Duration(*opts.TimeoutSeconds) * time.Second
	}
	if q.Wait && opts.ResourceVersion == "" { // the most recent state
		if q.Version, err = u.latest.do(req.Context()); err != nil {
			return err
		}
	}
	watcher, err := u.cache.Watch(req.Context(), q)
	if err != nil && !apierrors.IsResourceExpired(err) && !apierrors.IsTimeout(err) {
		return err
	}
	ctx, cancel := context.WithTimeout(req.Context(), timeout)
	defer cancel()
	g.req = req.WithContext(ctx)
	out, ok := open(w, req, cancel)
	if !ok {
		return nil // the handshake has answered
	}
	defer out.close()
	if err == nil {
		watch := &openWatch{
			guard: g, watcher: watcher, form: f, out: out, initial: q.Initial, bookmarks: opts.AllowWatchBookmarks,
		}
		err = watch.run()
	}
	if known := apierrors.APIStatus(nil); errors.As(err, &known) {
		_ = send(out, errorEvent(err)) // as kube-apiserver does: a watch is accepted before it is refused
	}
	return nil // any other error is the end of the watch, or a client that is gone or too slow
}

type openWatch struct {
	*guard

	watcher   *watchcache.Watcher
	form      *form
	out       output
	initial   bool
	bookmarks bool
}

// run sends events until the watch ends. An [apierrors.APIStatus] is for the reader.
func (o *openWatch) run() error {
	ctx := o.req.Context()
	deadline, _ := ctx.Deadline()
	bookmark := time.NewTimer(nextBookmark(deadline))
	defer bookmark.Stop()
	check := time.NewTimer(o.untilDue())
	defer check.Stop()
	defer o.watcher.Close()
	if err := o.sendInitial(); err != nil {
		return err
	}
	due := false
	atOnce := make(chan struct{})
	close(atOnce)
	for {
		changed := o.watcher.Changed()
		more, err := o.sendNext(due)
		switch {
		case err != nil:
			return err
		case more:
			changed = atOnce // the rest is for a watch that has always more to send, because its reader is slow
		default:
			due = false
		}
		select {
		case <-changed:
		case <-bookmark.C:
			due = o.bookmarks
			bookmark.Reset(nextBookmark(deadline))
		case <-check.C:
			if err := o.due(); err != nil {
				return err
			}
			check.Reset(o.untilDue())
		case <-ctx.Done():
			return ctx.Err()
		case <-o.relay.done:
			return nil
		}
	}
}

// nextBookmark returns the time to the next bookmark of a watch that ends at deadline.
func nextBookmark(deadline time.Time) time.Duration {
	period := jittered(bookmarkPeriod)
	if last := time.Until(deadline) - bookmarkLead; last > 0 {
		return min(period, last)
	}
	return period
}

// sendInitial sends an event for each object of the first state, and the bookmark that ends them.
func (o *openWatch) sendInitial() error {
	if !o.initial {
		return o.out.flush()
	}
	for _, one := range letGo(o.watcher.Initial()) {
		if err := o.ready(o.out.flush); err != nil {
			return err
		}
		object := one.Value()
		if object == nil {
			return watchcache.ErrSlow
		}
		if err := o.out.write(o.form.AppendEvent(nil, watchcache.Added, object)); err != nil {
			return err
		}
	}
	if !o.bookmarks {
		return o.out.flush()
	}
	return send(o.out, o.form.bookmark(o.watcher.Version(), true))
}

// sendNext sends the events of the next changes, and a bookmark if it is due and all are sent. more
// says that further changes wait.
func (o *openWatch) sendNext(due bool) (more bool, err error) {
	events, more, err := o.watcher.Next(watchBatch)
	if errors.Is(err, watchcache.ErrRestarted) {
		err = apierrors.NewResourceExpired(fmt.Sprintf("the relay's window at version %d has ended", o.watcher.Version()))
	}
	if err != nil {
		return false, err
	}
	for _, e := range events {
		if err := o.ready(o.out.flush); err != nil {
			return false, err
		}
		if err := o.out.write(e.Frame(o.form)); err != nil {
			return false, err
		}
	}
	if due && !more && o.watcher.Moved() {
		// A bookmark has no object, so it does not wait for an answer; readers take silence for a
		// dead connection.
		if err := o.due(); err != nil {
			return false, err
		}
		if err := o.out.write(o.form.bookmark(o.watcher.Version(), false)); err != nil {
			return false, err
		}
		return more, o.out.flush()
	}
	if len(events) == 0 {
		return more, nil
	}
	return more, o.out.flush()
}

// checkAge says in a header how old the cache is, if the upstream cannot be reached, or has not
// been asked yet whether what was saved is up to date. It refuses a request if the cache is too
// old, or if the upstream has no such type.
func (r *Relay) checkAge(w http.ResponseWriter, u *upstream) error {
	if err := u.gone(); err != nil {
		return err
	}
	status := u.reflector.Status()
	age := status.Staleness(time.Now())
	if _, err := status.Failing(); err != nil || !status.Synced {
		w.Header().Set("Age", strconv.Itoa(int(age.Seconds())))
	}
	if r.opts.MaxStaleness > 0 && age > r.opts.MaxStaleness {
		return apierrors.NewServiceUnavailable(fmt.Sprintf("the relay has not heard of %s from the API server for %s", u.GroupResource(), age.Round(time.Second)))
	}
	return nil
}
