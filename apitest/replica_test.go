package apitest

import (
	"testing"
	"testing/synctest"
)

func TestFrozenReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.create("d/a")
		b := f.Replica("b")
		b.Freeze()
		b.Freeze() // does nothing more
		f.touch("d/a")
		f.create("d/b")
		f.Compact() // does not take the frozen state away
		f.Route(b)
		if rv, frozen := b.Frozen(); rv != "2" || !frozen {
			t.Errorf("frozen at %s: %v", rv, frozen)
		}
		if l := f.list("/api/v1/configmaps?resourceVersion=0"); describe(l) != "2: d/a" {
			t.Errorf("its cache has %s", describe(l))
		}
		old := f.watch(configMaps + "&resourceVersion=2")
		ahead := f.watch(configMaps + "&resourceVersion=3")
		synctest.Wait()
		b.Unfreeze()
		old.want("MODIFIED a@3", "ADDED b@4")
		ahead.want("ADDED b@4")
		if l := f.list("/api/v1/configmaps?resourceVersion=0"); describe(l) != "4: d/a d/b" {
			t.Errorf("it has caught up to %s", describe(l))
		}
		// A new replica has no history.
		f.Route(f.Replica("c"))
		f.watch(configMaps + "&resourceVersion=3").want("ERROR Expired")
	})
}

// A list that continues after a 410 goes on with the present state, also at a replica that is
// behind: no page is older than the one before it.
func TestContinueAtAReplicaThatIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.create("d/a")
		f.create("d/b")
		b := f.Replica("b")
		b.Freeze()
		f.create("d/c")
		first := f.list("/api/v1/configmaps?limit=1")
		f.ExpireContinue()
		expired := f.list("/api/v1/configmaps?limit=1&continue=" + first.Metadata.Continue)
		f.Route(b)
		if l := f.list("/api/v1/configmaps?continue=" + expired.Metadata.Continue); describe(first) != "4: d/a ...2" || describe(l) != "5: d/b d/c" {
			t.Errorf("%s, then %s", describe(first), describe(l))
		}
	})
}
