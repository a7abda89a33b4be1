package apitest

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A page is the answer to one list request. It shares its revisions with the storage, so it costs no more than a slice of
// pointers.
type page struct {
	meta  metav1.ListMeta
	items []*revision
}

// list answers a list request.
func (r *Replica) list(ctx context.Context, t *table, sel selection, opts *internalversion.ListOptions) (*page, error) {
	rv, err := parseRV(opts.ResourceVersion)
	if err != nil {
		return nil, apierrors.NewBadRequest("invalid resource version: " + err.Error())
	}
	limit := opts.Limit
	switch {
	case opts.Continue != "":
		return r.listContinue(t, sel, opts)
	case opts.ResourceVersion == "":
		return r.listLatest(ctx, t, sel, limit)
	case opts.ResourceVersionMatch == metav1.ResourceVersionMatchExact,
		// "limit" and a resourceVersion without resourceVersionMatch mean Exact, because old clients do not know
		// resourceVersionMatch.
		// https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-get-and-list
		opts.ResourceVersionMatch == "" && limit > 0 && rv > 0:
		return r.listExact(ctx, t, sel, rv, limit)
	}
	if rv == 0 {
		limit = 0 // kube-apiserver ignores the limit of a list from its cache
	}
	if err := r.waitFor(ctx, rv); err != nil {
		return nil, err
	}
	defer r.srv.storage.mu.RUnlock()
	return r.table(t).page(sel, sel.prefix(), r.rv(), limit), nil
}

// listLatest waits until the cache has caught up with the storage. If it does not, listLatest reads the storage.
func (r *Replica) listLatest(ctx context.Context, t *table, sel selection, limit int64) (*page, error) {
	s := r.srv.storage
	s.mu.RLock()
	rv := s.rv
	s.mu.RUnlock()
	err := r.waitFor(ctx, rv)
	if err == nil {
		defer s.mu.RUnlock()
		return r.table(t).page(sel, sel.prefix(), r.rv(), limit), nil
	}
	if !apierrors.IsTimeout(err) {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return t.page(sel, sel.prefix(), s.rv, limit), nil
}

// listExact lists the state at rv. kube-apiserver reads one object from etcd, and anything else from its watch cache, if it
// has a snapshot of it. So a cache that is behind makes the client wait, and then gives the version of the cache.
func (r *Replica) listExact(ctx context.Context, t *table, sel selection, rv uint64, limit int64) (*page, error) {
	s := r.srv.storage
	h := &s.history
	if sel.named() {
		s.mu.RLock()
	} else {
		if err := r.waitFor(ctx, rv); err != nil {
			return nil, err
		}
		h = r.history()
	}
	defer s.mu.RUnlock()
	switch {
	case rv > h.rv:
		return nil, tooLarge(rv, h.rv)
	case rv < h.compacted:
		return nil, apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
	}
	return h.tables[t.res.ID()].page(sel, sel.prefix(), rv, limit), nil
}

// listContinue returns the next page of a list, at the version in the continue token.
func (r *Replica) listContinue(t *table, sel selection, opts *internalversion.ListOptions) (*page, error) {
	start, rv, err := decodeContinue(opts.Continue, sel.prefix())
	if err != nil {
		return nil, err
	}
	if opts.ResourceVersion != "" && opts.ResourceVersion != "0" {
		return nil, apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
	}
	s := r.srv.storage
	s.mu.RLock()
	defer s.mu.RUnlock()
	h := r.history()
	at := h.rv
	if rv > 0 {
		if at = uint64(rv); at > h.rv {
			return nil, tooLarge(at, h.rv)
		}
		if at < h.compacted || at <= h.tokens {
			return nil, expiredContinue(start, sel.prefix())
		}
	}
	limit := opts.Limit
	if opts.ResourceVersion == "0" {
		limit = 0 // kube-apiserver ignores the limit of a list from its cache
	}
	return h.tables[t.res.ID()].page(sel, start, at, limit), nil
}

// page collects up to limit objects. The caller holds the read lock.
func (t *table) page(sel selection, start string, rv uint64, limit int64) *page {
	p := &page{meta: metav1.ListMeta{ResourceVersion: formatRV(rv)}}
	if !t.res.Custom { // an UnstructuredList has no place for it
		p.meta.ShardInfo = sel.shardInfo()
	}
	if sel.single {
		limit = 0
	}
	var remaining int64
	t.walk(sel, start, rv, func(_ int, r *revision) bool {
		if limit > 0 && int64(len(p.items)) == limit {
			// There is another object, so there is another page. It is empty if the selectors select none of the other objects.
			if remaining == 0 {
				p.meta.Continue = encodeContinue(p.items[limit-1].key, sel.prefix(), rv)
			}
			remaining++
			return sel.everything()
		}
		if sel.matches(r) {
			p.items = append(p.items, r)
		}
		return true
	})
	if remaining > 0 && sel.everything() {
		p.meta.RemainingItemCount = &remaining
	}
	return p
}
