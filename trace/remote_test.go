package trace

import (
	"io/fs"
	"os"
	"testing"
	"testing/fstest"
)

// A sink whose objects are elsewhere gets everything that a queue gets, at the same times, and the server is asked the same. One
// trace is left out: in its list, objects that the sink holds already stand between others and are not in the order of their keys. A
// remote sink is not told that order, because rows have none.
func TestRemoteSink(t *testing.T) {
	traces := fstest.MapFS{}
	all := os.DirFS("../testdata")
	err := fs.WalkDir(all, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == "queue-replace-order.txt" {
			return err
		}
		data, err := fs.ReadFile(all, path)
		traces[path] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	Run(t, traces, func(env Env) (Client, error) { return mirrorOf(env, true) })
}
