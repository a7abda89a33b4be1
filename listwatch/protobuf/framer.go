package protobuf

import (
	"encoding/binary"
	"fmt"
)

const (
	// lengthBytes is the size of the length before each event, which is in network byte
	// order.
	// https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding
	lengthBytes = 4

	// textLength is the least number that four printable characters of text make if they
	// are read as a length. No server has an object of this length. Skipping so many
	// bytes would take forever.
	textLength = 0x20000000
)

// framer finds events by the length before each of them. The length may be wrong,
// because the bytes may not come from an API server. So nobody allocates memory by
// it.
type framer struct{ left int }

// Begin implements [frames.Framer].
func (f *framer) Begin(b []byte) (n int, begun bool, err error) {
	if len(b) < lengthBytes {
		return 0, false, nil
	}
	length := binary.BigEndian.Uint32(b)
	if length == 0 || length >= textLength {
		return 0, false, fmt.Errorf("%d bytes is no length of a frame", length)
	}
	f.left = int(length)
	return lengthBytes, true, nil
}

// Scan implements [frames.Framer].
func (f *framer) Scan(b []byte) (n, more int, err error) {
	n = min(len(b), f.left)
	f.left -= n
	return n, f.left, nil
}
