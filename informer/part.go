package informer

import (
	"context"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/internal/writes"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
)

// part is what has versions of its own: an [Informer], or a namespace of a [MultiNamespace]. It is
// one pointer for as long as it lives, so that package controller can compare it.
type part[T object.Object] struct {
	*cache[T]
	lw        source.ListWatcher[T]
	queue     *deltafifo.Queue[T]
	reflector *reflector.Reflector[T]
	gone      <-chan struct{} // closed when the namespace has been removed; nil for an Informer
}

// Parts returns the informer as package controller sees it.
func (in *Informer[T]) Parts() []writes.Cache { return []writes.Cache{in.part} }

// Parts returns the present namespaces as package controller sees them.
func (m *MultiNamespace[T]) Parts() []writes.Cache {
	var all []writes.Cache
	for _, f := range m.current() {
		all = append(all, f.part)
	}
	return all
}

func (p *part[T]) Name() string {
	resource, namespace := source.ScopeOf(p.lw)
	if namespace != "" {
		resource += " in " + namespace
	}
	return resource
}

// Sees does not trust a type that embeds a Client, because it may leave out objects by itself.
func (p *part[T]) Sees(w writes.Write) writes.Sight {
	client, ok := p.lw.(interface {
		Itself() any
		Sees(w writes.Write) writes.Sight
	})
	if ok && client.Itself() == any(p.lw) {
		return client.Sees(w)
	}
	if resource, namespace := source.ScopeOf(p.lw); resource == w.Resource && (namespace == "" || namespace == w.Namespace) {
		return writes.Unsure
	}
	return writes.Elsewhere
}

func (p *part[T]) Version() string { return p.queue.Passed() }

func (p *part[T]) Get(key string) (object.Meta, bool) {
	obj, exists := p.store.Get(key)
	if !exists {
		return object.Meta{Key: key}, false
	}
	return object.Meta{Key: key, UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion()}, true
}

func (p *part[T]) WaitForVersion(ctx context.Context, version string) error {
	return p.queue.WaitForVersion(ctx, version)
}

func (p *part[T]) WaitUntil(ctx context.Context, key string, holds func() bool) error {
	return p.until(ctx, key, func(T, bool) bool { return holds() })
}

func (p *part[T]) Ask(ctx context.Context, key string) (version string, meta object.Meta, exists bool, err error) {
	opts := metav1.ListOptions{Limit: 1}
	if key != "" {
		opts.FieldSelector = "metadata.name=" + fields.EscapeValue(key)
		if namespace, name, namespaced := strings.Cut(key, "/"); namespaced {
			opts.FieldSelector = "metadata.namespace=" + fields.EscapeValue(namespace) + ",metadata.name=" + fields.EscapeValue(name)
		}
	}
	page, err := p.lw.List(ctx, opts)
	if err != nil {
		return "", meta, false, err
	}
	list := source.List[T]{Items: page.Items, Metas: page.Metas}
	for i := range page.Items {
		if is, _ := list.Meta(i); is.Key == key {
			return page.ResourceVersion, is, true, nil
		}
	}
	for _, bad := range page.Errors {
		if bad.Meta.Key == key {
			return page.ResourceVersion, bad.Meta, true, nil
		}
	}
	return page.ResourceVersion, meta, false, nil
}

func (p *part[T]) Relist(ctx context.Context) error {
	err := p.untilEnd(ctx, p.reflector.Relist)
	if err == nil {
		err = p.queue.Wait(ctx)
	}
	return err
}

func (p *part[T]) Failing() error {
	_, err := p.reflector.Status().Failing()
	return err
}

// untilEnd calls wait with a context that also ends when the part ends. In that case it returns
// [deltafifo.ErrClosed].
func (p *part[T]) untilEnd(ctx context.Context, wait func(context.Context) error) error {
	live, end := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer end()
	watching.Go(func() {
		select {
		case <-p.ended:
			end()
		case <-p.gone:
			end()
		case <-live.Done():
		}
	})
	err := wait(live)
	if err != nil && ctx.Err() == nil {
		return deltafifo.ErrClosed
	}
	return err
}
