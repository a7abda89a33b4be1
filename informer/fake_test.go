package informer_test

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/memserver"
	"github.com/relist-go/relist/object"
)

// thing is the object type of the tests.
type thing struct {
	metav1.ObjectMeta `json:"metadata"`
	Value             int `json:"value"`
}

// fake is a server of things, which tests name by their key and value.
type fake struct{ *memserver.Server[*thing] }

func newFake(keys ...string) *fake {
	f := &fake{memserver.New[*thing]()}
	for _, key := range keys {
		f.set(key, 0)
	}
	return f
}

func (f *fake) set(key string, value int)  { f.Set(key, &thing{Value: value}) }
func (f *fake) swap(key string, value int) { f.Swap(key, &thing{Value: value}) }

// unanswered has the server leave requests of a verb without an answer.
func (f *fake) unanswered(verb string) *fake {
	f.Asked = func(ctx context.Context, asked string) error {
		if asked != verb {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}
	return f
}

// state is what the server has, as the tests compare it.
func (f *fake) state() []string { return describe(f.Objects()) }

func describe(items []*thing) []string {
	var out []string
	for _, obj := range items {
		out = append(out, fmt.Sprintf("%s %s %d", object.Key(obj), obj.UID, obj.Value))
	}
	return out
}
