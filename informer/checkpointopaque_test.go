package informer_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/informer/checkpoint"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
)

// opaque is a server whose versions are no numbers. Objects with the value odd cannot be decoded.
type opaque struct {
	*fake
	odd int
}

var errOdd = errors.New("odd")

func veil(version string) string { return "v" + version }

func veiled(obj *thing) *thing {
	if obj == nil {
		return nil
	}
	out := *obj
	out.ResourceVersion = veil(obj.ResourceVersion)
	return &out
}

func (o opaque) List(ctx context.Context, opts metav1.ListOptions) (*listwatch.Page[*thing], error) {
	page, err := o.fake.List(ctx, opts)
	if err != nil {
		return nil, err
	}
	items := page.Items
	page.Items = nil
	for _, obj := range items {
		obj = veiled(obj)
		if o.odd != 0 && obj.Value == o.odd {
			meta := listwatch.Meta{Key: object.Key(obj), UID: obj.UID, ResourceVersion: obj.ResourceVersion}
			page.Errors = append(page.Errors, &listwatch.ObjectError{Meta: meta, Err: errOdd})
		} else {
			page.Items = append(page.Items, obj)
		}
	}
	page.ResourceVersion = veil(page.ResourceVersion)
	return page, nil
}

func (o opaque) Watch(ctx context.Context, opts metav1.ListOptions) (listwatch.Watch[*thing], error) {
	opts.ResourceVersion = strings.TrimPrefix(opts.ResourceVersion, "v")
	w, err := o.fake.Watch(ctx, opts)
	if err != nil {
		return nil, err
	}
	return opaqueStream{w, o.odd}, nil
}

type opaqueStream struct {
	listwatch.Watch[*thing]
	odd int
}

func (s opaqueStream) Next() (listwatch.Event[*thing], error) {
	e, err := s.Watch.Next()
	if err != nil {
		return e, err
	}
	e.Object, e.Meta.ResourceVersion = veiled(e.Object), veil(e.Meta.ResourceVersion)
	if s.odd != 0 && e.Object != nil && e.Object.Value == s.odd {
		e.Object, e.Err = nil, &listwatch.ObjectError{Meta: e.Meta, Err: errOdd}
	}
	return e, nil
}

func savingOpaque(t *testing.T, f opaque, path string) (*rig, *diary) {
	t.Helper()
	opts := informer.Options[*thing]{Checkpoint: checkpoint.File[*thing](path, checkpoint.Options{}), Logger: silent}
	opts.Reflector.Rand = func() float64 { return 0 }
	r, d := &rig{Informer: informer.New(f, opts), t: t, fake: f.fake, done: make(chan error, 1)}, &diary{}
	r.add(d.handler())
	return r, d
}

// If versions are no numbers, nobody can tell which of two is older. The copy is resumed all the same, what is in doubt is asked for, and an
// expired version leads to a list.
func TestCopyOfAServerWithOpaqueVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "things")
		f := newFake("ns/a", "ns/b")
		first, d := savingOpaque(t, opaque{f, 13}, path)
		first.start()
		d.expect(t, "add ns/a=0 initial; add ns/b=0 initial")
		f.set("ns/a", 13)
		f.set("ns/b", 1)
		d.expect(t, "update ns/b=0->1")
		first.end()

		f.fail(errors.New("away"))
		f.set("ns/c", 3)
		second, d := savingOpaque(t, opaque{fake: f}, path)
		second.start()
		d.expect(t, "add ns/a=0 initial; add ns/b=1 initial")
		f.fail(nil)
		later(time.Minute)
		d.expect(t, "add ns/c=3; update ns/a=0->13")
		second.agree()
		second.end()

		f.gap(func() { f.remove("ns/b"); f.set("ns/d", 4) })
		third, d := savingOpaque(t, opaque{fake: f}, path)
		third.start()
		later(time.Minute)
		d.expect(t, "add ns/a=13 initial; add ns/b=1 initial; add ns/c=3 initial; add ns/d=4 initial; delete ns/b=1 unknown")
		third.agree()
	})
}
