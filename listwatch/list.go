package listwatch

import (
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/store"
	"github.com/relist-go/relist/transport"
)

// maxObjectBytes bounds the memory that one object of a list can claim while it
// is read. etcd takes 1.5 MiB by default; this is far above what any server
// stores.
const maxObjectBytes = 64 << 20

// decodePage reads one page of a list. Objects are decoded as their bytes
// arrive; what is held of the body is one object.
func decodePage[T store.Object](resp *transport.Response, d *decoder[T]) (*Page[T], error) {
	return decodeKnownPage(resp, d, nil)
}

// decodeKnownPage is decodePage for a caller that has some of the objects.
func decodeKnownPage[T store.Object](resp *transport.Response, d *decoder[T], known Known[T]) (*Page[T], error) {
	encoding, ok := d.encoding(resp.MediaType)
	if !ok {
		return nil, resp.UnexpectedContent()
	}
	p := pageDecoder[T]{
		decoder:  d,
		known:    known,
		encoding: encoding,
		bounded:  &boundedReader{r: resp.Body, left: maxObjectBytes},
		kind:     expected{partial: d.partial},
	}
	p.list = ListSink{begin: p.begin, item: p.item}
	err := encoding.ReadList(p.bounded, &p.list)
	if err == nil {
		err = p.finish()
	}
	if err != nil {
		return nil, fmt.Errorf("read the list: %w", err)
	}
	meta := &p.list.ListMeta
	p.page.ResourceVersion, p.page.Continue, p.page.Remaining = meta.ResourceVersion, meta.Continue, meta.RemainingItemCount
	p.page.kind = p.kind.kind
	return &p.page, nil
}

// pageDecoder makes a page of what an Encoding reads of a list.
type pageDecoder[T store.Object] struct {
	decoder  *decoder[T]
	known    Known[T]
	encoding *encoded
	bounded  *boundedReader

	list ListSink
	page Page[T]
	kind expected
}

func (p *pageDecoder[T]) begin() error { return p.kind.learnList(p.list.Kind) }

func (p *pageDecoder[T]) item(object []byte) error {
	p.bounded.left = maxObjectBytes
	if err := p.kind.check(p.encoding.Kind(object, true)); err != nil {
		return p.bad(object, refuse(p.encoding, object, err))
	}
	if obj, meta, ok := reuse(p.encoding, object, p.known); ok {
		p.add(obj, meta)
		p.page.Reused++
		return nil
	}
	// A list of custom resources has its kind after its items, but those
	// items have their own.
	obj, meta, bad := p.decoder.decode(p.encoding, object, p.itemKind())
	if bad != nil {
		return p.bad(object, bad)
	}
	p.add(obj, meta)
	return nil
}

func (p *pageDecoder[T]) add(obj T, meta Meta) {
	p.page.Items = append(p.page.Items, obj)
	p.page.Metas = append(p.page.Metas, meta)
}

// bad sets an item aside. If it is no value at all, then what was taken for it may be
// part of another: it is the list that is malformed.
func (p *pageDecoder[T]) bad(object []byte, bad *ObjectError) error {
	if v, ok := p.encoding.Encoding.(validator); ok && !v.Valid(object) {
		return fmt.Errorf("%w: %w", errMalformed, bad)
	}
	p.page.Errors = append(p.page.Errors, bad)
	return nil
}

// itemKind is the kind of an item that names none. The apiVersion may come behind the
// items, as it does in CBOR; it is that of the resource then.
func (p *pageDecoder[T]) itemKind() schema.GroupVersionKind {
	kind := itemKind(p.list.TypeMeta)
	if kind.Kind != "" && p.list.APIVersion == "" {
		version := p.decoder.version
		if kind.Kind == partialKind {
			version = metav1.SchemeGroupVersion
		}
		return version.WithKind(kind.Kind)
	}
	return kind
}

// finish tells a list from the other things that servers and proxies answer
// with a 200.
func (p *pageDecoder[T]) finish() error {
	if p.list.Kind == "Table" || p.list.Kind == "Status" {
		return fmt.Errorf("%w: a %s instead of a list", errMalformed, p.list.Kind)
	}
	if !p.list.items && !strings.HasSuffix(p.list.Kind, "List") {
		return fmt.Errorf("%w: kind %q without items instead of a list", errMalformed, p.list.Kind)
	}
	return nil
}

// boundedReader fails once more than left bytes were read. The list's decoder
// renews left after each object, so that it bounds one object and not the list.
type boundedReader struct {
	r    io.Reader
	left int
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, ErrObjectTooLarge
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
