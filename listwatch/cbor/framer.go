package cbor

import "errors"

// framer finds the events of a watch, which is a sequence of CBOR items with nothing
// between them (RFC 8742).
type framer struct{ scan scanner }

var errStart = errors.New("want the map of an event")

// Begin implements [frames.Framer]. An event is a map, with or without tags before it.
func (f *framer) Begin(b []byte) (n int, begun bool, err error) {
	if kind := b[0] >> 5; kind != majorMap && kind != majorTag {
		return 0, false, errStart
	}
	f.scan = scanner{stack: f.scan.stack[:0]}
	return 0, true, nil
}

// Scan implements [frames.Framer].
func (f *framer) Scan(b []byte) (n, more int, err error) {
	n, done, err := f.scan.Scan(b)
	if !done {
		more = 1
	}
	return n, more, err
}
