package informer_test

import (
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// If versions are no numbers, nobody can tell which of two is older. The copy is resumed all the
// same, what is unsure is asked for, and an expired version leads to a list.
func TestCopyOfAServerWithOpaqueVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "things")
		f := newFake()
		f.Prefix = "v"
		f.set("ns/a", 0)
		f.set("ns/b", 0)
		f.Bad = func(obj *thing) error {
			if obj.Value == 13 {
				return errors.New("bad luck")
			}
			return nil
		}
		first, d := saving(t, f, path)
		first.start()
		d.expect(t, "add ns/a=0 initial; add ns/b=0 initial")
		f.set("ns/a", 13)
		f.set("ns/b", 1)
		d.expect(t, "update ns/b=0->1")
		first.end()

		f.Fail(errors.New("away"))
		f.set("ns/c", 3)
		f.Bad = nil
		second, d := saving(t, f, path)
		second.start()
		d.expect(t, "add ns/a=0 initial; add ns/b=1 initial")
		f.Fail(nil)
		later(time.Minute)
		d.expect(t, "add ns/c=3; update ns/a=0->13")
		second.agree()
		second.end()

		f.Gap(func() { f.Remove("ns/b"); f.set("ns/d", 4) })
		third, d := saving(t, f, path)
		third.start()
		later(time.Minute)
		d.expect(t, "add ns/a=13 initial; add ns/b=1 initial; add ns/c=3 initial; add ns/d=4 initial; delete ns/b=1 inferred")
		third.agree()
	})
}
