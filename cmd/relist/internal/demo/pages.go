package demo

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch"
)

// pageSize makes lists of a few pages, also of few objects: a continue token has to
// exist before it can expire.
func pageSize(objects int) int64 { return int64(min(500, max(1, objects/4))) }

// pages stands between the reflector and the server, sees every page, and asks for
// smaller ones than the reflector does.
type pages struct {
	listwatch.ListWatcher[*listwatch.Raw]
	limit   int64
	watcher *watcher

	mu   sync.Mutex
	hook func() // to call once, after a page that continues
}

// afterFirst arms the hook.
func (p *pages) afterFirst(hook func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hook = hook
}

// List implements [listwatch.ListWatcher].
func (p *pages) List(ctx context.Context, opts metav1.ListOptions) (*listwatch.Page[*listwatch.Raw], error) {
	if opts.Limit > 0 {
		opts.Limit = min(opts.Limit, p.limit)
	}
	page, err := p.ListWatcher.List(ctx, opts)
	if opts.Continue != "" && apierrors.IsResourceExpired(err) {
		p.watcher.change(func(v *view) { v.tokenExpired++ })
	}
	if err == nil && page.Continue != "" {
		p.mu.Lock()
		hook := p.hook
		p.hook = nil
		p.mu.Unlock()
		if hook != nil {
			hook()
		}
	}
	return page, err
}
