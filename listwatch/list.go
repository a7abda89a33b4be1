package listwatch

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	if resp.MediaType != jsonMediaType {
		return nil, resp.UnexpectedContent()
	}
	bounded := &boundedReader{r: resp.Body, left: maxObjectBytes}
	p := pageDecoder[T]{
		decoder: d,
		bounded: bounded,
		json:    jsontext.NewDecoder(bounded, lenient),
		kind:    expected{partial: d.partial},
	}
	if err := p.read(); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("read the list: %w", withoutValue(err))
	}
	p.page.kind = p.kind.kind
	return &p.page, nil
}

type pageDecoder[T store.Object] struct {
	decoder *decoder[T]
	bounded *boundedReader
	json    *jsontext.Decoder

	page  Page[T]
	kind  expected
	list  metav1.TypeMeta
	items bool // the list has had its items
}

func (p *pageDecoder[T]) read() error {
	if _, err := p.expect('{'); err != nil {
		return err
	}
	for p.json.PeekKind() != '}' {
		name, err := p.expect('"')
		if err != nil {
			return err
		}
		if err := p.member(name.String()); err != nil {
			return err
		}
	}
	if _, err := p.expect('}'); err != nil {
		return err
	}
	return p.finish()
}

func (p *pageDecoder[T]) member(name string) error {
	switch name {
	case "kind":
		return json.UnmarshalDecode(p.json, &p.list.Kind)
	case "apiVersion":
		return json.UnmarshalDecode(p.json, &p.list.APIVersion)
	case "metadata":
		var meta metav1.ListMeta
		if err := json.UnmarshalDecode(p.json, &meta); err != nil {
			return err
		}
		p.page.ResourceVersion, p.page.Continue, p.page.Remaining = meta.ResourceVersion, meta.Continue, meta.RemainingItemCount
		return nil
	case "items":
		return p.readItems()
	}
	return p.json.SkipValue()
}

func (p *pageDecoder[T]) readItems() error {
	p.items = true
	if p.json.PeekKind() == 'n' {
		return p.json.SkipValue() // null: Go servers write it for an empty list
	}
	if err := p.kind.learnList(p.list.Kind); err != nil {
		return err
	}
	if _, err := p.expect('['); err != nil {
		return err
	}
	for p.json.PeekKind() != ']' {
		data, err := p.json.ReadValue()
		if err != nil {
			return err
		}
		p.bounded.left = maxObjectBytes
		if err := p.kind.check(peekKind(data, true)); err != nil {
			p.page.Errors = append(p.page.Errors, refuse(data, err))
			continue
		}
		// A list of custom resources has its kind after its items, but those
		// items have their own.
		obj, _, bad := p.decoder.decode(data, itemKind(p.list))
		if bad != nil {
			p.page.Errors = append(p.page.Errors, bad)
			continue
		}
		p.page.Items = append(p.page.Items, obj)
	}
	_, err := p.expect(']')
	return err
}

// finish tells a list from the other things that servers and proxies answer
// with a 200.
func (p *pageDecoder[T]) finish() error {
	if p.list.Kind == "Table" || p.list.Kind == "Status" {
		return fmt.Errorf("%w: a %s instead of a list", errMalformed, p.list.Kind)
	}
	if !p.items && !strings.HasSuffix(p.list.Kind, "List") {
		return fmt.Errorf("%w: kind %q without items instead of a list", errMalformed, p.list.Kind)
	}
	if _, err := p.json.ReadToken(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: more follows the end of the list", errMalformed)
	}
	return nil
}

func (p *pageDecoder[T]) expect(kind jsontext.Kind) (jsontext.Token, error) {
	token, err := p.json.ReadToken()
	if err != nil {
		return jsontext.Token{}, err
	}
	if token.Kind() != kind {
		return jsontext.Token{}, fmt.Errorf("%w: %v where %v should be, at byte %d", errMalformed, token.Kind(), kind, p.json.InputOffset())
	}
	return token, nil
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
