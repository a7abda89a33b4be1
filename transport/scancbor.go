package transport

import (
	"io"

	"github.com/relist-go/relist/internal/cborwire"
)

// cborScanner finds the end of a data item of CBOR: a watch is a sequence of them, with
// nothing in between (RFC 8742).
type cborScanner struct{ cborwire.Scanner }

// begin takes maps, and tags, which may stand before one.
func (s *cborScanner) begin(c byte) (begins, between bool) {
	major := c >> 5
	return major == cborwire.Map || major == cborwire.Tag, false
}

func (s *cborScanner) wants() string { return "the map of an event" }

func (s *cborScanner) scan(b []byte) (n int, done bool, err error) { return s.Scan(b) }

// check does nothing: no byte of an item is passed over.
func (s *cborScanner) check([]byte) (i int, err error) { return 0, nil }

func newCBORReader(r io.Reader, limit int) *frameReader {
	f := newFrameReader(r, limit)
	f.scan = new(cborScanner)
	return f
}
