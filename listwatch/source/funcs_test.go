package source_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/source"
)

func ExampleFuncs() {
	numbers := listwatch.Funcs[int]{
		ListFunc: func(_ context.Context, opts metav1.ListOptions) (*listwatch.Page[int], error) {
			if opts.Continue == "" {
				return &listwatch.Page[int]{Items: []int{1, 2}, ResourceVersion: "10", Continue: "more"}, nil
			}
			return &listwatch.Page[int]{Items: []int{3}, ResourceVersion: "10"}, nil
		},
		WatchFunc: func(context.Context, metav1.ListOptions) (listwatch.Watch[int], error) {
			return nil, io.EOF
		},
		Name: "numbers",
	}
	list, err := source.All(context.Background(), numbers, metav1.ListOptions{})
	fmt.Println(numbers, list.Items, list.Pages, err)
	// Output: numbers [1 2 3] 2 <nil>
}

func TestFuncsPassOnWhatTheyAreGiven(t *testing.T) {
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, "mine")
	refused := errors.New("refused")
	var asked []string
	ask := func(ctx context.Context, what string, opts metav1.ListOptions) {
		asked = append(asked, fmt.Sprint(what, " ", ctx.Value(key{}), " ", opts.ResourceVersion))
	}
	var lw listwatch.ListWatcher[int] = listwatch.Funcs[int]{
		ListFunc: func(ctx context.Context, opts metav1.ListOptions) (*listwatch.Page[int], error) {
			ask(ctx, "list", opts)
			return nil, refused
		},
		WatchFunc: func(ctx context.Context, opts metav1.ListOptions) (listwatch.Watch[int], error) {
			ask(ctx, "watch", opts)
			return nil, refused
		},
	}
	if _, err := lw.List(ctx, metav1.ListOptions{ResourceVersion: "1"}); !errors.Is(err, refused) {
		t.Errorf("List returned %v", err)
	}
	if _, err := lw.Watch(ctx, metav1.ListOptions{ResourceVersion: "2"}); !errors.Is(err, refused) {
		t.Errorf("Watch returned %v", err)
	}
	if want := "[list mine 1 watch mine 2]"; fmt.Sprint(asked) != want {
		t.Errorf("asked %v, want %s", asked, want)
	}
}
