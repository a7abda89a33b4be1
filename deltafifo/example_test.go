package deltafifo_test

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/store"
)

func Example() {
	type Pod = metav1.PartialObjectMetadata
	pod := func(name string, uid types.UID) *Pod {
		return &Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: "uid-" + uid}}
	}
	pods := store.New(store.Options[*Pod]{})
	q := deltafifo.New(deltafifo.Options[*Pod]{Known: pods})
	process := func(e deltafifo.Entry[*Pod]) error {
		for _, d := range e.Deltas {
			fmt.Println(e.Key, d.Type, d.Object.UID, "inferred:", d.Tombstone != nil)
			if d.Type == deltafifo.Deleted {
				if err := pods.Delete(d.Object); err != nil {
					return err
				}
			} else if err := pods.Update(d.Object); err != nil {
				return err
			}
		}
		return nil
	}

	// As a reflector does: a list, and after a gap in the watch another list.
	for _, list := range [][]*Pod{
		{pod("db", "1"), pod("web", "2")},
		{pod("web", "3")}, // db is gone, and web is another one
	} {
		if err := q.Replace(list, ""); err != nil {
			fmt.Println(err)
		}
		for q.Len() > 0 {
			if err := q.Pop(context.Background(), process); err != nil {
				fmt.Println(err)
			}
		}
	}
	fmt.Println("synced:", q.HasSynced())
	// Output:
	// shop/db Replaced uid-1 inferred: false
	// shop/web Replaced uid-2 inferred: false
	// shop/web Deleted uid-2 inferred: true
	// shop/web Replaced uid-3 inferred: false
	// shop/db Deleted uid-1 inferred: true
	// synced: true
}

// Between two entries, a consumer learns a version, and it has all changes up to that version.
// Other goroutines can wait for a version.
func ExampleQueue_Mark() {
	q := deltafifo.New(deltafifo.Options[*testObject]{
		OnMarkPassed: func(resourceVersion string) { fmt.Println("up to", resourceVersion) },
	})
	for _, obj := range []*testObject{obj("a@4"), obj("b@5")} {
		if err := q.Add(obj); err != nil {
			panic(err)
		}
	}
	q.Mark("5")
	if err := q.Update(obj("a@6")); err != nil { // joins the entry of a
		panic(err)
	}
	q.Mark("6")

	for range 2 {
		err := q.Pop(context.Background(), func(e deltafifo.Entry[*testObject]) error {
			fmt.Println(e.Key, len(e.Deltas))
			return nil
		})
		if err != nil {
			panic(err)
		}
	}
	fmt.Println(q.WaitForVersion(context.Background(), "6"))
	// Output:
	// a 2
	// b 1
	// up to 6
	// <nil>
}
