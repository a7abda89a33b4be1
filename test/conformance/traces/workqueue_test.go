package traces

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// What docs/differences.md says of client-go's work queue.
func TestWorkQueue(t *testing.T) {
	for name, test := range map[string]func(*testing.T, workqueue.TypedRateLimitingInterface[string]){
		"delays without jitter":         pausesWithoutJitter,
		"delays for all keys":           pausesForAllKeys,
		"a change ends a delay at once": changeEndsPause,
		"a time is kept":                timeIsKept,
		"closed but not empty":          closedButNotEmpty,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
				defer q.ShutDown()
				test(t, q)
			})
		})
	}
}

// now returns the number of keys that can be had.
func now(q workqueue.TypedRateLimitingInterface[string]) int {
	synctest.Wait()
	return q.Len()
}

func pausesWithoutJitter(t *testing.T, q workqueue.TypedRateLimitingInterface[string]) {
	pause := 5 * time.Millisecond
	for failures := range 20 {
		began := time.Now()
		q.AddRateLimited("a")
		key, _ := q.Get()
		if waited := time.Since(began); waited != pause {
			t.Errorf("after %d failures %s waited for %s, want %s", failures+1, key, waited, pause)
		}
		q.Done(key)
		pause = min(2*pause, 1000*time.Second)
	}
}

// Beside the delay of a key, all keys together come back ten times a second.
func pausesForAllKeys(t *testing.T, q workqueue.TypedRateLimitingInterface[string]) {
	for i := range 200 {
		q.AddRateLimited(fmt.Sprint(i))
	}
	<-time.After(6 * time.Second)
	if n := now(q); n != 160 {
		t.Errorf("%d keys of 200 that failed once are back after 6 s, want 160", n)
	}
}

func changeEndsPause(t *testing.T, q workqueue.TypedRateLimitingInterface[string]) {
	began := time.Now()
	for range 1000 {
		q.AddRateLimited("a")
		q.Add("a") // what the worker itself has written
		key, _ := q.Get()
		q.Done(key)
	}
	if took := time.Since(began); took != 0 {
		t.Errorf("1000 failures took %s", took)
	}
}

func timeIsKept(t *testing.T, q workqueue.TypedRateLimitingInterface[string]) {
	q.AddAfter("a", time.Minute)
	q.Add("a")
	key, _ := q.Get()
	q.AddAfter(key, time.Hour)
	q.Done(key)
	<-time.After(time.Minute)
	if n := now(q); n != 1 {
		t.Errorf("%d keys wait a minute later, want the one", n)
	}
}

func closedButNotEmpty(t *testing.T, q workqueue.TypedRateLimitingInterface[string]) {
	q.Add("a")
	q.ShutDown()
	if key, closed := q.Get(); closed || key != "a" {
		t.Errorf("Get returned %q, %v", key, closed)
	}
}
