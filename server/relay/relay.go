package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/server/watchcache"
	"github.com/relist-go/relist/transport"
	"github.com/relist-go/relist/transport/discovery"
)

// Options of a [Relay].
type Options struct {
	// Resources are what the relay keeps in its cache, of all namespaces.
	Resources []discovery.Resource

	// Authenticate says who sends a request. If it returns no user, the answer is 401. It is asked
	// again while a watch is open, so it should remember its answers for some time; [TokenReviews]
	// and [ClientCertificates] are such functions, and [FirstOf] combines them.
	Authenticate func(*http.Request) (*User, error)

	// Authorize says whether a user may do something. If not, the answer is 403. It is asked again
	// while a watch is open, and the watch ends when the right is withdrawn. [AccessReviews] asks
	// the upstream; [AllowAll] is for readers who may read all that the relay has.
	Authorize func(context.Context, *User, Attributes) (Decision, error)

	// PassOn says that requests for anything else than Resources are sent to the upstream, as the
	// user who sends them. The relay's own user needs the right to impersonate. If false, they are
	// refused, but for discovery.
	PassOn bool

	// MaxStaleness is how old the cache may be before requests get a 503: [MinStaleness] or more.
	// If zero, the relay serves what it has however old it is. Either way an answer has the header
	// Age, in seconds, while the upstream cannot be reached.
	MaxStaleness time.Duration

	// Dir is a folder for the windows of the resources, so that the relay's next process goes on
	// where this one ends. If empty, nothing is saved. New makes the folder. The files have the
	// objects as they are: keep them as secret as the objects.
	Dir string

	// SaveEvery is the time between two saves; there is one more when Run ends. If zero, one
	// minute.
	SaveEvery time.Duration

	// VerifyEvery is the time between two comparisons of a cache with the upstream, by a list of
	// metadata. They find what the watch of the upstream has lost: see [reflector.VerifyOptions].
	// If zero, 6 hours. If negative, nothing is compared.
	VerifyEvery time.Duration

	// Cache configures the cache of each resource.
	Cache watchcache.Options

	// OnRestored is told that a resource begins with the objects of a saved window, up to a
	// version. It may be nil.
	OnRestored func(resource discovery.Resource, objects int, version string)

	// Trace returns the functions that are told what the reflector of a resource does. It may be
	// nil, and may return nil.
	Trace func(discovery.Resource) *reflector.Trace

	// OnProblem is told of what the relay's operator has to mend: a window could not be saved or
	// loaded, or nobody can say who the reader of a new request is, or what it may do, which is
	// told once a minute for all readers. If nil, nobody is told.
	OnProblem func(error)
}

// MinStaleness is the least [Options.MaxStaleness]. While nothing changes, the relay hears from a
// healthy server only by bookmarks, once a minute, so a smaller limit would refuse requests
// although the cache is up to date.
const MinStaleness = 3 * time.Minute

func (o *Options) problem(err error) {
	if err != nil && o.OnProblem != nil {
		o.OnProblem(err)
	}
}

// A Relay is an http.Handler. All methods may be called from any goroutine.
type Relay struct {
	opts      Options
	client    *transport.Client
	upstreams []*upstream
	done      chan struct{} // closed when Run has ended

	compressing chan struct{} // see reply

	unknownUser, unknownRight complaint
}

// A complaint tells the operator, once in each complaintPeriod, that a question about readers has
// no answer. Readers who get a 503 come again, and a stranger can come with any token.
type complaint struct{ told atomic.Int64 } // when, in Unix nanoseconds

const complaintPeriod = time.Minute

func (c *complaint) tell(opts *Options, err error) {
	now, told := time.Now().UnixNano(), c.told.Load()
	if now-told >= int64(complaintPeriod) && c.told.CompareAndSwap(told, now) {
		opts.problem(err)
	}
}

// New returns a relay that has not started. The client is the relay's own access to the upstream:
// it must be allowed to list and watch the resources.
func New(client *transport.Client, opts Options) (*Relay, error) {
	if opts.Authenticate == nil || opts.Authorize == nil {
		return nil, errors.New("relay: Options.Authenticate and Options.Authorize are required: see relay.FirstOf and relay.AllowAll")
	}
	if opts.MaxStaleness != 0 && opts.MaxStaleness < MinStaleness {
		return nil, fmt.Errorf("relay: Options.MaxStaleness is %v, and has to be %v or more: an idle type sends a bookmark once a minute", opts.MaxStaleness, MinStaleness)
	}
	if opts.SaveEvery < 0 {
		return nil, fmt.Errorf("relay: Options.SaveEvery is %v: want the time between two saves, or 0 for a minute", opts.SaveEvery)
	}
	opts.SaveEvery = cmp.Or(opts.SaveEvery, time.Minute)
	opts.VerifyEvery = cmp.Or(opts.VerifyEvery, 6*time.Hour)
	if opts.Dir != "" {
		if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
			return nil, fmt.Errorf("relay: make the folder for the windows: %w", err)
		}
	}
	r := &Relay{opts: opts, client: client, done: make(chan struct{}), compressing: make(chan struct{}, maxGzip)}
	for _, resource := range opts.Resources {
		if !resource.Can("list") || !resource.Can("watch") {
			return nil, fmt.Errorf("relay: %s cannot be listed and watched", resource.GroupResource())
		}
		u, err := newUpstream(client, resource, &r.opts)
		if err != nil {
			return nil, err
		}
		r.upstreams = append(r.upstreams, u)
	}
	return r, nil
}

// Run keeps the caches in step with the upstream until ctx ends. Then it saves their windows, ends
// all watches, and returns ctx.Err(). It can be called once.
func (r *Relay) Run(ctx context.Context) error {
	defer close(r.done)
	var running sync.WaitGroup
	for _, u := range r.upstreams {
		running.Go(func() {
			if err := u.run(ctx, &r.opts); ctx.Err() == nil {
				r.opts.problem(err)
			}
		})
	}
	running.Wait()
	return ctx.Err()
}

// ServeHTTP answers one request.
func (r *Relay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Cache-Control", "no-cache, private")
	if fromForeignPage(req) {
		writeError(w, apierrors.NewForbidden(noResource, "", errors.New("a web page of another origin sends this request, and the relay answers none")))
		return
	}
	switch req.URL.Path {
	case "/healthz", "/livez":
		_, _ = w.Write([]byte("ok"))
		return
	case "/readyz":
		r.serveReady(w)
		return
	}
	select {
	case <-r.done:
		writeError(w, apierrors.NewServiceUnavailable("the relay is shutting down"))
		return
	default:
	}
	if err := r.serve(w, req); err != nil {
		writeError(w, err)
	}
}

// serve answers a request. If it returns an error, nothing was sent.
func (r *Relay) serve(w http.ResponseWriter, req *http.Request) error {
	user, err := r.opts.Authenticate(req)
	switch {
	case req.Context().Err() != nil:
		return req.Context().Err() // nobody reads it
	case err != nil:
		r.unknownUser.tell(&r.opts, fmt.Errorf("relay: find out who a reader is: %w", err))
		return errUnknown
	case user == nil:
		return apierrors.NewUnauthorized("Unauthorized")
	case impersonates(req):
		return apierrors.NewForbidden(noResource, "", errors.New("a relay does not let its readers impersonate others"))
	}
	parts, err := split(req.URL.EscapedPath())
	if err != nil {
		return err
	}
	u, t := r.find(parts)
	switch {
	case u != nil && req.Method == http.MethodGet:
		return r.serveResource(w, req, user, u, t)
	case isDiscovery(parts) && req.Method == http.MethodGet:
		return r.discover(w, req, user, parts)
	case upgrades(req):
		return errUpgrade
	case r.opts.PassOn:
		return r.passOn(w, req, user)
	case u != nil:
		refused := apierrors.NewMethodNotSupported(u.GroupResource(), strings.ToLower(req.Method))
		refused.ErrStatus.Message += " by this relay: send it to the API server itself, which a relay with --pass-on does"
		return refused
	}
	return apierrors.NewForbidden(noResource, "", errors.New("this relay serves only get, list and watch of "+r.served()+"; send other requests to the API server itself"))
}

// errUnknown is what a reader gets if nobody can say who it is. It does not tell a stranger why.
var errUnknown = apierrors.NewServiceUnavailable("the relay cannot find out who you are")

// fromForeignPage reports whether a browser says that a page of another origin sends a request.
// Such a page could read a WebSocket, and could write as the user whose certificate the browser
// has. It is asked of every request, so that no kind of answer can be forgotten.
func fromForeignPage(req *http.Request) bool {
	return slices.ContainsFunc(req.Header.Values("Origin"), func(origin string) bool {
		page, err := url.Parse(origin)
		return err != nil || !strings.EqualFold(page.Host, req.Host)
	})
}

func (r *Relay) served() string {
	var names []string
	for _, u := range r.upstreams {
		names = append(names, u.GroupResource().String())
	}
	return strings.Join(names, ", ")
}

func impersonates(req *http.Request) bool {
	for name := range req.Header { // one is enough: the order does not matter
		if strings.HasPrefix(name, "Impersonate-") {
			return true
		}
	}
	return false
}

// A target is what a path names: an object, or a collection if there is no name.
type target struct{ namespace, name string }

// find returns the resource that a path is about, and nil if it is not one of the relay's, or is
// one of their subresources.
func (r *Relay) find(parts []string) (*upstream, target) {
	var group, version string
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		version, parts = parts[1], parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		group, version, parts = parts[1], parts[2], parts[3:]
	default:
		return nil, target{}
	}
	var t target
	if len(parts) >= 3 && parts[0] == "namespaces" {
		t.namespace, parts = parts[1], parts[2:]
	}
	if len(parts) > 2 {
		return nil, target{}
	}
	if len(parts) == 2 {
		t.name = parts[1]
	}
	i := slices.IndexFunc(r.upstreams, func(u *upstream) bool {
		// A collection of all namespaces has no namespace in its path; an object has one exactly if
		// its type has.
		fits := u.Namespaced == (t.namespace != "") || u.Namespaced && t.name == ""
		return fits && u.Group == group && u.Version == version && u.Resource.Resource == parts[0]
	})
	if i < 0 {
		return nil, target{}
	}
	return r.upstreams[i], t
}

// split returns the parts of a path. A path that two servers could read in two ways is refused.
func split(path string) ([]string, error) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if last := len(parts) - 1; last > 0 && parts[last] == "" {
		parts = parts[:last] // a slash at the end
	}
	for i, part := range parts {
		plain, err := url.PathUnescape(part)
		if err != nil || plain == "" || plain == "." || plain == ".." || strings.ContainsAny(plain, "/%\\\x00") || !utf8.ValidString(plain) {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("the relay does not take the path %q, because its part %q has no one meaning", path, part))
		}
		parts[i] = plain
	}
	return parts, nil
}

// isDiscovery reports whether a path is about what the upstream serves, and not about objects.
func isDiscovery(parts []string) bool {
	switch parts[0] {
	case "api":
		return len(parts) <= 2
	case "apis":
		return len(parts) <= 3
	case "openapi", "version":
		return true
	}
	return false
}
