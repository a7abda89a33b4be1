package record

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/apitest"
)

func nothing(*world) {}

// after lets time pass.
func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestRecord(t *testing.T) {
	c := listenTo(t, apitest.Options{}, Options{}, func(w *world) {
		w.put("default", "a", nil)
		w.put("other", "x", nil)
		w.put("default", "b", nil)
	}, func(w *world) {
		after(1500 * time.Millisecond)
		w.put("default", "c", map[string]any{"k": "v"})
		w.remove("default", "a")
		after(90 * time.Second)
		w.server.CutWatches(20)
		w.put("default", "b", nil)
		after(10 * time.Second)
		w.server.Compact()
		w.put("default", "c", nil)
		after(5 * time.Second)
	})
	text := passes(t, c)
	t.Log(text)
}
