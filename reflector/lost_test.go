package reflector_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// reusing is a scripted server that takes unchanged objects from its caller.
type reusing struct{ *scripted }

func (s reusing) ListParts(
	ctx context.Context, opts metav1.ListOptions, known func(key string) (partial, object.Meta, bool), part func(source.Part[partial]) error,
) (*source.Page[partial], error) {
	page, err := s.List(ctx, opts)
	if err != nil {
		return nil, err
	}
	for i, meta := range page.Metas {
		if known == nil {
			break
		}
		if obj, held, ok := known(meta.Key); ok && held == meta {
			page.Items[i] = obj
		}
	}
	items := page.Items
	page.Items = nil
	return page, part(source.Part[partial]{Items: items, Metas: page.Metas})
}

// If the process function of a queue fails, and its program does not try again, the change is lost,
// and the next list brings it. The reflector has passed a newer version on than is held, as if a
// backup had been restored. So it decodes the most recent state as a whole, and the report names
// both causes.
func TestChangeThatTheConsumerLostComesWithTheNextList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at, version := "100", "91"
		server := newScripted()
		server.list = func(metav1.ListOptions) (*source.Page[partial], error) {
			return pageOf(at, newPartial("a", "u", "90"), newPartial("b", "v", version)), nil
		}
		held := store.New(store.Options[partial]{})
		queue := deltafifo.New(deltafifo.Options[partial]{Known: held})
		var problems []string
		stop := running(t, reflector.New[partial](reusing{server}, reflector.InQueue(queue), reflector.Options{Rand: zero, Trace: &reflector.Trace{
			Problem: func(p reflector.Problem) { problems = append(problems, p.Err.Error()) },
		}}))
		var fails error
		consume := func() {
			synctest.Wait()
			for queue.Len() > 0 {
				err := queue.Pop(t.Context(), func(e deltafifo.Entry[partial]) error {
					if fails != nil {
						return fails
					}
					return held.Update(e.Deltas[len(e.Deltas)-1].Object)
				})
				if !errors.Is(err, fails) {
					t.Errorf("Pop returned %v", err)
				}
			}
		}
		stream := <-server.streams
		consume()
		at, version = "102", "101"
		fails = errors.New("no room")
		stream.event(object.Modified, newPartial("b", "v", version))
		consume()
		fails = nil
		stream.events <- &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusGone, Reason: metav1.StatusReasonExpired}}
		<-server.streams
		consume()
		if b, _ := held.Get("b"); b.ResourceVersion != version {
			t.Errorf("b is held at %s, and is at %s", b.ResourceVersion, version)
		}
		if len(problems) != 1 || !strings.HasSuffix(problems[0], "or a watch or the sink has lost a change: b is at 101, and was at 91") {
			t.Errorf("reported are %q, want one problem that names the cause", problems)
		}
		stop()
	})
}
