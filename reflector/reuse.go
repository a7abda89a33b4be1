package reflector

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch"
)

// reusable returns what a list may take from the sink in place of decoding it again:
// objects of which it has the same UID and resourceVersion. It is nil where there is
// nothing, and where a version need not mean what it meant: after the server's storage
// was restored from a backup, until a list has been decoded whole.
func (d *driver[T]) reusable() listwatch.Known[T] {
	if d.known == nil || d.state.resume == "" || d.distrusted {
		return nil
	}
	return d.holds
}

// distrust takes note of why the resume point is given up.
func (d *driver[T]) distrust(reason Reason) {
	d.distrusted = d.distrusted || reason == WentBack
}

// listAll gets a list, with what can be reused. Whether the server went back is known
// only when the list is here. Then it is asked for again, to be decoded whole.
func listAll[T any](ctx context.Context, lw listwatch.ListWatcher[T], opts metav1.ListOptions, known listwatch.Known[T], resume string) (*listwatch.List[T], error) {
	list, err := listwatch.AllKnown(ctx, lw, opts, known)
	if err == nil && list.Reused > 0 && older(list.ResourceVersion, resume) {
		return listwatch.All(ctx, lw, opts)
	}
	return list, err
}
