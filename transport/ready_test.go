package transport

import (
	"bytes"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// counting counts the reads of a reader.
type counting struct {
	io.Reader
	reads int
}

func (c *counting) Read(p []byte) (int, error) {
	c.reads++
	return c.Reader.Read(p)
}

// TestReady: to ask makes no difference to the frames, wherever the stream is split; and
// a frame that is ready takes no reading.
func TestReady(t *testing.T) {
	cut := "\x00\x00\x00\x02ab\x00\x00\x00\x09too large\x00\x00\x00\x01c\x00\x00\x00\x03d"
	for name, test := range map[string]struct {
		stream string
		framer func(r io.Reader) framer
	}{
		"JSON":              {"{\"a\":1}\n{\"too\":\"large\"} {\"b\":\"}\"}\n\n{\"c", func(r io.Reader) framer { return newFrameReader(r, 10) }},
		"JSON, malformed":   {"{\"a\":1}\n{}]{}", func(r io.Reader) framer { return newFrameReader(r, 0) }},
		"CBOR":              {"\xa1\x61a\x01\xa1\x61b\x44too large\xa0\xa1", func(r io.Reader) framer { return newCBORReader(r, 5) }},
		"lengths":           {cut, func(r io.Reader) framer { return newLengthReader(r, 3) }},
		"lengths, with all": {cut, func(r io.Reader) framer { return newLengthReader(r, 0) }},
		"no length":         {"\x00\x00\x00\x01a\x00\x00\x00\x00", func(r io.Reader) framer { return newLengthReader(r, 0) }},
	} {
		t.Run(name, func(t *testing.T) {
			stream := []byte(test.stream)
			want := collect(test.framer(bytes.NewReader(stream)).next)
			some := false
			for at := range len(stream) + 1 {
				in := &counting{Reader: pieces(stream[:at], stream[at:])}
				f := test.framer(in)
				got := collect(func() ([]byte, error) {
					ready, before := f.ready(), in.reads
					if f.ready() != ready {
						t.Fatalf("split at %d: asked again, it says otherwise", at)
					}
					data, err := f.next()
					if ready && in.reads != before {
						t.Fatalf("split at %d: it was ready, and then it read", at)
					}
					some = some || ready
					return data, err
				})
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("split at byte %d (-want +got):\n%s", at, diff)
				}
			}
			if !some {
				t.Error("no frame was ever ready")
			}
		})
	}
}

// TestReadyLeavesTheLastFrame: it is valid until the next call of next.
func TestReadyLeavesTheLastFrame(t *testing.T) {
	for name, f := range map[string]framer{
		"JSON":    newFrameReader(bytes.NewReader([]byte(`{"a":1}{"b":2}`)), 0),
		"lengths": newLengthReader(bytes.NewReader([]byte("\x00\x00\x00\x07{\"a\":1}\x00\x00\x00\x07{\"b\":2}")), 0),
	} {
		first, err := f.next()
		if !f.ready() || err != nil || string(first) != `{"a":1}` {
			t.Errorf("%s: %q, %v", name, first, err)
		}
	}
}
