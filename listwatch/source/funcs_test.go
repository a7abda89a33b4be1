package source_test

import (
	"context"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/source"
)

func ExampleFuncs() {
	numbers := source.Funcs[int]{
		ListFunc: func(_ context.Context, opts metav1.ListOptions) (*source.Page[int], error) {
			if opts.Continue == "" {
				return &source.Page[int]{Items: []int{1, 2}, ResourceVersion: "10", Continue: "more"}, nil
			}
			return &source.Page[int]{Items: []int{3}, ResourceVersion: "10"}, nil
		},
		WatchFunc: func(context.Context, metav1.ListOptions) (source.Watch[int], error) {
			return nil, io.EOF
		},
		Name: "numbers",
	}
	list, err := source.All(context.Background(), numbers, metav1.ListOptions{})
	fmt.Println(numbers, list.Items, list.Pages, err)
	// Output: numbers [1 2 3] 2 <nil>
}
