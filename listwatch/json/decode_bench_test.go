package json

import (
	"compress/gzip"
	"io"
	"os"
	"runtime"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// pods returns the 300 Pods of testdata, as a server sent them.
func pods(tb testing.TB) (items []jsontext.Value, size int64) {
	tb.Helper()
	file, err := os.Open("../../testdata/pods-300.json.gz")
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		tb.Fatal(err)
	}
	data, err := io.ReadAll(unpacked)
	if err != nil {
		tb.Fatal(err)
	}
	var list struct {
		Items []jsontext.Value `json:"items"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		tb.Fatal(err)
	}
	for _, item := range list.Items {
		size += int64(len(item))
	}
	return list.Items, size
}

// BenchmarkPods decodes the 300 Pods. live-B/pod is what one that is kept takes.
func BenchmarkPods(b *testing.B) {
	var shared, alone treeDecoder
	for _, way := range []struct {
		name   string
		decode func([]byte) (any, error)
	}{
		{"shared", func(data []byte) (any, error) { return shared.Decode(data, true) }},
		{"alone", func(data []byte) (any, error) { return alone.Decode(data, false) }},
		{"apimachinery", func(data []byte) (any, error) { return apimachinery(data) }},
	} {
		b.Run(way.name, func(b *testing.B) {
			items, size := pods(b)
			b.SetBytes(size)
			b.ReportAllocs()
			kept := make([]any, len(items))
			for b.Loop() {
				for i, item := range items {
					var err error
					if kept[i], err = way.decode(item); err != nil {
						b.Fatal(err)
					}
				}
			}
			with := heap()
			clear(kept)
			b.ReportMetric(float64(with-heap())/float64(len(items)), "live-B/pod")
			runtime.KeepAlive(kept)
		})
	}
}

func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
