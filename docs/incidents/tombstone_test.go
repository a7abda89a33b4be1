package incidents

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/store"
)

// Job is as much of one as a controller needs that holds something for each.
type Job struct {
	metav1.ObjectMeta `json:"metadata"`
}

func newJob(name string) *Job {
	return &Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

// MissedDeletion is the shape in which a handler of type func(any) is given a
// deletion that nobody saw.
type MissedDeletion struct {
	Key string
	Obj any // the last state known
}

// A handler for any must know of every type that it can be given. This one knows
// of one, and what it should have released is held forever.
func Example_handlerForAny() {
	held := map[string]bool{"build-41": true, "build-42": true}
	onDelete := func(obj any) {
		job, ok := obj.(*Job)
		if !ok {
			return // what else could it be?
		}
		delete(held, job.Name)
	}

	onDelete(newJob("build-41"))
	onDelete(MissedDeletion{Key: "default/build-42", Obj: newJob("build-42")})
	fmt.Println("still held:", held)
	// Output:
	// still held: map[build-42:true]
}

// A Deleted has its object, seen or not. That it was inferred stands beside it.
func Example_deltaOfJob() {
	jobs := store.New(store.Options[*Job]{})
	queue := deltafifo.New(deltafifo.Options[*Job]{Known: jobs})
	held := map[string]bool{}
	process := func(entry deltafifo.Entry[*Job]) error {
		for _, d := range entry.Deltas {
			if d.Type == deltafifo.Deleted {
				delete(held, d.Object.Name)
				fmt.Println("released", d.Object.Name, "seen:", d.Tombstone == nil)
				return jobs.Delete(d.Object)
			}
			held[d.Object.Name] = true
		}
		return jobs.Update(entry.Deltas[len(entry.Deltas)-1].Object)
	}

	var errs []error
	for _, list := range [][]*Job{
		{newJob("build-41"), newJob("build-42")},
		{newJob("build-41")}, // after the outage
	} {
		errs = append(errs, queue.Replace(list, ""))
		for queue.Len() > 0 {
			errs = append(errs, queue.Pop(context.Background(), process))
		}
	}
	fmt.Println("still held:", held, errors.Join(errs...))
	// Output:
	// released build-42 seen: false
	// still held: map[build-41:true] <nil>
}
