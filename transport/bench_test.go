package transport

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"testing"
)

// podEvents returns a watch stream of the 300 pods of a real cluster.
func podEvents(tb testing.TB) (stream []byte, frames int) {
	tb.Helper()
	file, err := os.Open("testdata/pods-300.json.gz")
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		tb.Fatal(err)
	}
	var list struct{ Items []json.RawMessage }
	if err := json.NewDecoder(unzipped).Decode(&list); err != nil {
		tb.Fatal(err)
	}
	for _, item := range list.Items {
		stream = append(stream, `{"type":"MODIFIED","object":`...)
		stream = append(stream, item...)
		stream = append(stream, "}\n"...)
	}
	return stream, len(list.Items)
}

func BenchmarkFrames(b *testing.B) {
	stream, want := podEvents(b)
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		f := newFrameReader(bytes.NewReader(stream), defaultMaxFrameBytes)
		n := 0
		for {
			_, err := f.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != want {
			b.Fatalf("%d frames, want %d", n, want)
		}
	}
}
