package cbor

// framer finds the events of a watch, which is a sequence of CBOR items with nothing
// between them (RFC 8742).
type framer struct{ scan scanner }

// Begin implements [frames.Framer].
func (f *framer) Begin([]byte) (n int, begun bool, err error) {
	f.scan.reset()
	return 0, true, nil
}

// Scan implements [frames.Framer].
func (f *framer) Scan(b []byte) (n, more int, err error) {
	n, err = f.scan.scan(b)
	if !f.scan.whole() {
		more = 1
	}
	return n, more, err
}
