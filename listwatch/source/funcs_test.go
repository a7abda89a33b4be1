package source_test

import (
	"context"
	"fmt"
	"io"

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
