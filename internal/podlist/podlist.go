// Package podlist has the 300 Pods that a kube-apiserver sent, testdata/pods-300.json.gz, for tests
// of the packages that read objects.
package podlist

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/relist-go/relist/internal/must"
)

// Text returns the list in JSON.
func Text(tb testing.TB) []byte {
	tb.Helper()
	file, err := open()
	must.OK(tb, err)
	defer file.Close() //nolint:errcheck // it was only read
	unzipped, err := gzip.NewReader(file)
	must.OK(tb, err)
	text, err := io.ReadAll(unzipped)
	must.OK(tb, err)
	return text
}

// open looks for the file above the folder of the test.
func open() (*os.File, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for {
		file, err := os.Open(filepath.Join(dir, "testdata", "pods-300.json.gz"))
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return file, err
		}
		dir = filepath.Dir(dir)
	}
}

// Items returns each Pod of the list, in JSON.
func Items(tb testing.TB) []json.RawMessage {
	tb.Helper()
	var list struct{ Items []json.RawMessage }
	must.OK(tb, json.Unmarshal(Text(tb), &list))
	if len(list.Items) != 300 {
		tb.Fatalf("the list has %d pods, want 300", len(list.Items))
	}
	return list.Items
}
