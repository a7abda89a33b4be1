package listwatch

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

// pageOptions are what a caller wants of a page.
type pageOptions[T any] struct {
	known   func(key string) (T, object.Meta, bool) // nil: the caller has none of the objects
	shard   *shard                                  // nil: any object
	part    func(source.Part[T]) error              // takes the objects while they arrive; nil: they are in the page
	earlier expected                                // the kind of the items, as earlier pages have told it
	learn   func(kind expected)                     // is told the kind of the items of a whole page; may be nil
}

// decodePage reads one page of a list. It decodes objects as their bytes arrive, and
// holds the bytes of one object at a time.
func decodePage[T object.Object](resp *transport.Response, d *decoder[T], opts pageOptions[T]) (*source.Page[T], error) {
	encoding := d.withMediaType(resp.MediaType)
	if encoding == nil {
		return nil, resp.UnexpectedContent()
	}
	p := pageDecoder[T]{
		pageOptions: opts,

		decoder:  d,
		encoding: encoding,
		bounded:  &boundedReader{r: resp.Body, left: format.MaxObjectBytes},
		kind:     expected{kind: opts.earlier.kind, guessed: opts.earlier.guessed, partial: d.partial},
	}
	p.list = format.NewList(p.begin, p.item)
	err := encoding.ReadList(p.bounded, p.list)
	if err == nil {
		err = p.finish()
	}
	if err != nil {
		return nil, fmt.Errorf("read the list: %w", err)
	}
	meta := &p.list.ListMeta
	p.page.ResourceVersion, p.page.Continue, p.page.Remaining = meta.ResourceVersion, meta.Continue, meta.RemainingItemCount
	if p.learn != nil {
		p.learn(expected{kind: p.kind.kind, partial: p.kind.partial, guessed: p.kind.guessed || p.unnamed})
	}
	if p.part != nil && (p.parts == 0 || len(p.page.Items)+len(p.page.Errors) > 0) {
		return &p.page, p.handOver()
	}
	return &p.page, nil
}

// A part of a page is handed over when it has partObjects objects or partBytes bytes. A transaction
// of a database of so many rows is cheap, and a part of that size does not count in memory.
const (
	partObjects = 256
	partBytes   = 1 << 20
)

// pageDecoder builds a page from the parts of a list that an Encoding hands over.
type pageDecoder[T object.Object] struct {
	pageOptions[T]

	decoder  *decoder[T]
	encoding *encoded
	bounded  *boundedReader

	list *format.List
	page source.Page[T]
	kind expected
	size int // of the objects in page, in bytes

	// waiting are items that cannot be decoded before the kind of the items is known. They name
	// none, and the kind of the list may stand behind them. Or they name another kind than the
	// list, and a second item tells which is right; at most partObjects wait.
	waiting [][]byte

	unnamed bool // the kind is a guess that nothing contradicts: the items name none

	parts int // handed over
}

func (p *pageDecoder[T]) begin() error { return p.kind.learnList(p.list.Kind) }

func (p *pageDecoder[T]) item(object []byte) error {
	p.bounded.left = format.MaxObjectBytes
	kind := p.encoding.Kind(object, true)
	if p.kind.guessed && (len(kind) == 0 || string(kind) == p.kind.kind) {
		p.kind.guessed, p.unnamed = false, len(kind) == 0
	}
	if p.mustWait(kind) {
		p.waiting = append(p.waiting, bytes.Clone(object))
		return nil
	}
	if err := p.useWaiting(); err != nil {
		return err
	}
	return p.use(object, kind)
}

// mustWait reports whether an item of this kind cannot be used yet. The items behind one that waits
// for the list's kind wait, too.
func (p *pageDecoder[T]) mustWait(kind []byte) bool {
	if p.kind.guessed {
		return len(p.waiting) < partObjects && p.kind.suspect(kind) != nil
	}
	if !p.decoder.kinds || p.list.Kind != "" || p.kind.kind != "" {
		return false
	}
	return len(p.waiting) > 0 || len(kind) == 0
}

func (p *pageDecoder[T]) useWaiting() error {
	waiting := p.waiting
	p.waiting = nil
	for _, object := range waiting {
		if err := p.use(object, p.encoding.Kind(object, true)); err != nil {
			return err
		}
	}
	return nil
}

// use decodes an item, and hands a part over if it is full.
func (p *pageDecoder[T]) use(object, kind []byte) error {
	if err := p.decode(object, kind); err != nil || p.part == nil {
		return err
	}
	if p.size += len(object); p.size < partBytes && len(p.page.Items)+len(p.page.Errors) < partObjects {
		return nil
	}
	return p.handOver()
}

// handOver hands over the objects that the page has, and keeps no reference to them.
func (p *pageDecoder[T]) handOver() error {
	part := source.Part[T]{Items: p.page.Items, Metas: p.page.Metas, Errors: p.page.Errors, Remaining: p.list.RemainingItemCount}
	p.page.Items, p.page.Metas, p.page.Errors = nil, nil, nil
	p.size = 0
	p.parts++
	return p.part(part)
}

func (p *pageDecoder[T]) decode(object, kind []byte) error {
	if err := p.kind.check(kind); err != nil {
		return p.bad(object, refuse(p.encoding, object, err))
	}
	obj, meta, known := reuse(p.encoding, object, p.known)
	if !known {
		var bad *source.ObjectError
		// A list of custom resources has its kind after its items, but there each item names its
		// own kind.
		if obj, meta, bad = p.decoder.decode(p.encoding, object, p.itemKind()); bad != nil {
			return p.bad(object, bad)
		}
	}
	p.kind.learn(kind)
	if p.parts > 0 && p.page.Items == nil { // the part before was full, and this one mostly becomes so
		p.page.Items, p.page.Metas = slices.Grow(p.page.Items, partObjects), slices.Grow(p.page.Metas, partObjects)
	}
	p.page.Items = append(p.page.Items, obj)
	p.page.Metas = append(p.page.Metas, meta)
	return p.shard.check(meta)
}

// bad records an item that cannot be used. If the item's bytes are not even a value, they may be a
// part of something else, so bad returns an error: the whole list is malformed.
func (p *pageDecoder[T]) bad(object []byte, bad *source.ObjectError) error {
	if !p.encoding.Valid(object) {
		return fmt.Errorf("%w: %w", errMalformed, bad)
	}
	p.page.Errors = append(p.page.Errors, bad)
	return p.shard.check(bad.Meta)
}

// itemKind returns the kind for an item that names none. If the list's apiVersion comes after the
// items, itemKind takes the apiVersion of the resource.
func (p *pageDecoder[T]) itemKind() schema.GroupVersionKind {
	kind := itemKind(p.list.TypeMeta, p.kind.kind)
	if kind.Kind == "" || p.list.APIVersion != "" {
		return kind
	}
	if kind.Kind == partialKind {
		return metav1.SchemeGroupVersion.WithKind(partialKind)
	}
	return p.decoder.version.WithKind(kind.Kind)
}

// finish returns an error if the answer was not a list: servers and proxies answer other things,
// too, with a 200.
func (p *pageDecoder[T]) finish() error {
	if p.list.Kind == "Table" || p.list.Kind == "Status" {
		return fmt.Errorf("%w: a %s instead of a list", errMalformed, p.list.Kind)
	}
	if !p.list.HasItems() && !strings.HasSuffix(p.list.Kind, "List") {
		return fmt.Errorf("%w: kind %q without items instead of a list", errMalformed, p.list.Kind)
	}
	switch {
	case len(p.waiting) == 0:
		return nil
	case p.kind.guessed:
		p.kind = expected{partial: p.kind.partial} // each item has contradicted it
	default:
		if err := p.kind.learnList(p.list.Kind); err != nil {
			return err
		}
	}
	return p.useWaiting()
}

// boundedReader fails if more than left bytes would be read. The list's decoder resets left at each
// object, so the bound is for one object and not for the list.
type boundedReader struct {
	r    io.Reader
	left int
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, format.ErrObjectTooLarge
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// reuse returns the known object that has the UID and the resourceVersion of an item. It reads only
// what identifies the item, and decodes nothing else.
func reuse[T any](encoding *encoded, item []byte, known func(key string) (T, object.Meta, bool)) (obj T, meta object.Meta, ok bool) {
	if known == nil {
		return obj, meta, false
	}
	id := encoding.Identify(item)
	if len(id.Name) == 0 || len(id.UID) == 0 || len(id.ResourceVersion) == 0 {
		return obj, meta, false
	}
	key := id.Key() // the one allocation for a known item
	obj, meta, ok = known(key)
	if !ok || string(id.UID) != string(meta.UID) || string(id.ResourceVersion) != meta.ResourceVersion {
		return *new(T), object.Meta{}, false
	}
	meta.Key = key
	return obj, meta, true
}
