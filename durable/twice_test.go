package durable_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
)

// twice sends the first object of a list twice, from the second list on: first as it might be on
// another replica of the server.
type twice struct {
	*listwatch.Client[*thing]

	apart bool // in another part
	lists int
}

func (l *twice) List(ctx context.Context, opts metav1.ListOptions) (*source.Page[*thing], error) {
	page, err := l.Client.List(ctx, opts)
	if err != nil {
		return nil, err
	}
	if l.lists++; l.lists == 1 {
		return page, nil
	}
	other, meta := *page.Items[0], page.Metas[0]
	other.ResourceVersion, meta.ResourceVersion = "9000", "9000"
	page.Items, page.Metas = append([]*thing{&other}, page.Items...), append([]object.Meta{meta}, page.Metas...)
	return page, nil
}

func (l *twice) ListParts(
	ctx context.Context, opts metav1.ListOptions, _ func(string) (*thing, object.Meta, bool), part func(source.Part[*thing]) error,
) (*source.Page[*thing], error) {
	page, err := l.List(ctx, opts)
	if err != nil {
		return nil, err
	}
	first := 0
	if l.apart {
		first = 1
	}
	for _, p := range []source.Part[*thing]{
		{Items: page.Items[:first], Metas: page.Metas[:first]}, {Items: page.Items[first:], Metas: page.Metas[first:]},
	} {
		if err := part(p); err != nil {
			return nil, err
		}
	}
	page.Items, page.Metas = nil, nil
	return page, nil
}

// If a list has an object twice, the later one is right, also if it is the one that the copy has.
func TestObjectTwiceInAList(t *testing.T) {
	for _, apart := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			for i := range 3 {
				r.create("a", fmt.Sprint("o", i), nil)
			}
			configs, err := listwatch.New(r.client, configMaps, listwatch.Options[*thing]{})
			must.OK(t, err)
			lw := &twice{Client: configs, apart: apart}
			m, err := durable.New(lw, r.place.open(t), durable.Options{
				Stream: durable.StreamOf("c1", configMaps, listwatch.Options[*thing]{}, ""), Logger: slog.New(slog.NewTextHandler(&r.log, nil)),
			})
			must.OK(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- m.Run(ctx) }()
			later(time.Minute)
			r.refuse(time.Second)
			later(time.Millisecond)
			r.create("b", "last", nil)
			r.server.Compact()
			later(time.Minute)
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("Run has returned %v", err)
			}
			seen := 0
			for _, c := range r.commits {
				last := ""
				for _, change := range c.changes {
					if change.Meta.Key == "a/o0" {
						last = change.Meta.ResourceVersion
						seen++
					}
				}
				if last == "9000" {
					t.Error("a commit of a list ends with the earlier one of two objects")
				}
			}
			if seen < 3 {
				t.Errorf("the object was written %d times, want once by the first list and twice by the second", seen)
			}
		})
	}
}
