package apitest

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/server/watchcache"
)

// A page is the answer to one list request. It shares its revisions with the storage, so it costs
// no more than a slice of pointers.
type page struct {
	meta  metav1.ListMeta
	items []*revision
}

func (t *table) page(sel selection, p *watchcache.Page) *page {
	out := &page{items: make([]*revision, len(p.Objects))}
	out.meta = metav1.ListMeta{ResourceVersion: formatRV(p.Version), Continue: p.Continue, RemainingItemCount: p.Remaining}
	if !t.res.Custom { // an UnstructuredList has no place for it
		out.meta.ShardInfo = sel.shardInfo()
	}
	for i, o := range p.Objects {
		out.items[i] = t.shown(o.(*revision))
	}
	return out
}

// list answers a list request: from the cache, or from the storage where kube-apiserver asks etcd.
func (r *Replica) list(ctx context.Context, t *table, sel selection, opts *internalversion.ListOptions) (*page, error) {
	q := watchcache.Query{
		Selection: sel.Selection, Limit: opts.Limit, Continue: opts.Continue,
		ResourceVersion: opts.ResourceVersion, ResourceVersionMatch: opts.ResourceVersionMatch,
	}
	s := r.srv.storage
	cache, latest := r.cache(t)
	recent := q.ResourceVersion == "" && q.Continue == ""
	switch {
	case recent:
		q.ResourceVersion, q.ResourceVersionMatch = formatRV(latest), metav1.ResourceVersionMatchNotOlderThan
	case q.ResourceVersionMatch == "" && q.Limit > 0 && q.ResourceVersion != "" && q.ResourceVersion != "0":
		q.ResourceVersionMatch = metav1.ResourceVersionMatchExact // as watchcache has it
	}
	if err := s.checkCompacted(q); err != nil {
		return nil, err
	}
	p, err := cache.List(ctx, q)
	lost := errors.Is(err, watchcache.ErrNotReady) && q.Limit > 0 && q.Everything()
	if recent && apierrors.IsTimeout(err) || lost || errors.Is(err, watchcache.ErrNotCached) {
		p, err = s.read(t, q)
	}
	if err != nil {
		return nil, err
	}
	return t.page(sel, p), nil
}

// past returns the version of the past that a list asks for, and where it continues, or 0. A list
// that cannot be read asks for none.
func past(q watchcache.Query) (token watchcache.Token) {
	switch {
	case q.Continue != "":
		token, _ = watchcache.ParseToken(q.Continue, q.Prefix())
	case q.ResourceVersionMatch == metav1.ResourceVersionMatchExact:
		token.Version, _ = watchcache.ParseVersion(q.ResourceVersion)
	}
	return token
}

// checkCompacted refuses a list of a state that was compacted.
func (s *storage) checkCompacted(q watchcache.Query) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	token := past(q)
	if token.Version > 0 && (token.Version < s.compacted || q.Continue != "" && token.Version <= s.tokens) {
		return expired(q, token)
	}
	return nil
}

// expired is the error for a list of a state that was compacted.
func expired(q watchcache.Query, token watchcache.Token) error {
	if q.Continue != "" {
		return watchcache.ExpiredToken(token, q.Prefix())
	}
	return apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
}

// read answers a list from the storage: at the version of the past that it asks for, or at the
// present one.
func (s *storage) read(t *table, q watchcache.Query) (*watchcache.Page, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	token := past(q)
	switch {
	case token.Version == 0:
		token.Version = s.rv
	case token.Version < s.compacted: // since it was looked at
		return nil, expired(q, token)
	}
	return s.list(t, q.Selection, token.Start, token.Version, q.Limit)
}
