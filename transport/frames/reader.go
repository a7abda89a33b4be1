package frames

import (
	"bytes"
	"fmt"
	"io"
)

const (
	// minBuffer is the size of a new buffer, and of one that has shrunk: that of a quiet stream.
	minBuffer = 4 << 10
	// keepBuffer is how far the buffer grows while reads fill it. So a read from a busy stream
	// brings many frames. A larger one is replaced before the stream waits again.
	keepBuffer = 64 << 10

	// maxEmptyReads is how often in a row a reader may return nothing, as in bufio.
	maxEmptyReads = 100
)

// Reader splits a stream of bytes into frames.
//
//	buf:  ....frame just returned....{"type":"ADDED","obj...........
//	                                 ^start             ^scanned=end
//
// The Framer has scanned buf[start:scanned], and scans no byte twice, however the stream
// is split.
type Reader struct {
	r      io.Reader
	framer Framer
	limit  int // of a frame; 0 is unlimited
	quote  func(text []byte, bound int) []byte

	buf     []byte
	start   int
	scanned int
	end     int
	offset  int64 // of buf[start] in the stream

	inFrame  bool   // buf[start] is the first byte of a frame
	skipping bool   // inside a frame that was too large: its bytes are dropped
	ahead    []byte // the frame that Ready has found for Next, or aheadErr
	aheadErr error
	err      error
	readErr  error // the last error of r; Next returns it after all bytes before it
}

// NewReader returns a Reader that reads from r. A frame may have limit bytes; 0 is
// unlimited. quote returns the bytes of a text that an error may quote: the first ones,
// at most bound, without secrets. If quote is nil, errors quote the first bytes
// unchanged.
func NewReader(r io.Reader, framer Framer, limit int, quote func(text []byte, bound int) []byte) *Reader {
	if quote == nil {
		quote = func(text []byte, bound int) []byte { return text[:min(len(text), bound)] }
	}
	return &Reader{r: r, framer: framer, limit: limit, quote: quote}
}

// Reset makes the Reader continue with another reader and another Framer. offset is the
// position in the stream of the first byte of r.
func (f *Reader) Reset(r io.Reader, framer Framer, offset int64) {
	f.drop(f.end)
	f.offset = offset
	f.r, f.framer, f.inFrame, f.skipping = r, framer, false, false
	f.ahead, f.aheadErr, f.err, f.readErr = nil, nil, nil, nil
}

// Next returns the next frame, which is valid until the next call. It returns io.EOF if
// the stream ends between two frames, and an error that wraps io.ErrUnexpectedEOF if the
// stream ends inside a frame. It reads from r only if the buffer holds no whole frame.
// After an error, every call returns the same error. The exception is a [TooLargeError],
// because it concerns one frame only.
func (f *Reader) Next() ([]byte, error) {
	if f.ahead != nil || f.aheadErr != nil {
		data, err := f.ahead, f.aheadErr
		f.ahead, f.aheadErr = nil, nil
		return data, err
	}
	for f.err == nil {
		data, err := f.cut()
		if data != nil || err != nil {
			return data, err
		}
		if f.err == nil {
			f.fill()
		}
	}
	return nil, f.err
}

// Ready reports whether Next is known to return without reading. The last frame stays
// valid.
func (f *Reader) Ready() bool {
	if f.ahead == nil && f.aheadErr == nil && f.err == nil {
		f.ahead, f.aheadErr = f.cut()
	}
	return f.ahead != nil || f.aheadErr != nil || f.err != nil
}

// cut takes the next frame from the buffer. It returns nil if the buffer does not hold
// all of the frame. An error that ends the stream is stored in f.err.
func (f *Reader) cut() ([]byte, error) {
	for f.start < f.end {
		if !f.inFrame && !f.begin() {
			return nil, nil
		}
		n, more, err := f.framer.Scan(f.buf[f.scanned:f.scanEnd()])
		f.scanned += n
		if err != nil {
			f.malformed(f.scanned, err)
			return nil, nil
		}
		if f.skipping {
			f.drop(f.scanned)
			if more > 0 {
				return nil, nil
			}
			f.inFrame, f.skipping = false, false
			continue
		}
		if f.isTooLarge(more) {
			return nil, f.tooLarge()
		}
		if more > 0 {
			return nil, nil
		}
		data := f.buf[f.start:f.scanned:f.scanned]
		f.drop(f.scanned)
		f.inFrame = false
		return data, nil
	}
	return nil, nil
}

// begin skips the bytes before a frame, and reports whether a frame begins.
func (f *Reader) begin() bool {
	n, begun, err := f.framer.Begin(f.buf[f.start:f.end])
	f.drop(f.start + n)
	if err != nil {
		f.malformed(f.start, err)
		return false
	}
	f.inFrame = begun
	return begun
}

// scanEnd returns how far cut may scan: to the limit of the frame's size. Whether a
// frame is too large or malformed must not depend on bytes beyond the limit, because
// then it would depend on how the stream was split.
func (f *Reader) scanEnd() int {
	if f.limit > 0 && !f.skipping {
		return min(f.end, f.start+f.limit)
	}
	return f.end
}

// isTooLarge reports whether the frame, of which at least more bytes are still to come,
// exceeds the limit. It waits until enough of the frame is in the buffer to tell which
// object it is.
func (f *Reader) isTooLarge(more int) bool {
	size := f.scanned - f.start
	return f.limit > 0 && more > f.limit-size && size >= min(f.limit, TooLargeHead)
}

// drop discards the bytes before buf[to].
func (f *Reader) drop(to int) {
	f.offset += int64(to - f.start)
	f.start, f.scanned = to, to
}

// malformed ends the stream with an error for the byte buf[at].
func (f *Reader) malformed(at int, reason error) {
	f.err = &Error{
		Offset: f.offset + int64(at-f.start),
		Head:   string(f.quote(f.buf[at:f.end], errorHead)),
		Reason: reason.Error(),
	}
}

// tooLarge starts to skip the frame at buf[start], and returns the error for it.
func (f *Reader) tooLarge() error {
	head := f.quote(f.buf[f.start:f.scanned], TooLargeHead)
	err := &TooLargeError{Limit: f.limit, Offset: f.offset, Head: bytes.Clone(head)}
	f.drop(f.scanned)
	f.skipping = true
	return err
}

// fill makes room and reads once.
func (f *Reader) fill() {
	if f.readErr != nil {
		f.err = f.readErr
		if (f.inFrame || f.start < f.end) && f.readErr == io.EOF { //nolint:errorlint // only the bare one is an end
			f.err = fmt.Errorf("the stream ends inside a frame, %d bytes in: %w", f.end-f.start, io.ErrUnexpectedEOF)
		}
		return
	}
	f.makeRoom()
	for range maxEmptyReads {
		n, err := f.r.Read(f.buf[f.end:])
		f.end += n
		f.readErr = err
		if n > 0 || err != nil {
			return
		}
	}
	f.readErr = io.ErrNoProgress
}

// makeRoom moves the unread bytes to the start of the buffer, and makes room for at
// least one byte behind them.
func (f *Reader) makeRoom() {
	unread := f.buf[f.start:f.end]
	switch {
	case !f.inFrame && len(f.buf) > minBuffer && f.end <= minBuffer/2, len(f.buf) > keepBuffer && len(unread) <= minBuffer/2:
		// The last read brought little, and no frame is cut; or the large frame is over, because a
		// frame that is still growing would have filled the buffer.
		f.buf = make([]byte, minBuffer)
	case f.end == len(f.buf) && (len(unread) == f.end || f.end < keepBuffer && f.end < f.grown(f.end)):
		f.buf = make([]byte, f.grown(f.end))
	case f.start == 0:
		return // there is room behind the unread bytes
	}
	// copy allows that the old place overlaps the new one.
	f.end = copy(f.buf, unread)
	f.scanned -= f.start
	f.start = 0
}

// grown returns the size of the buffer after one that is full with size bytes.
func (f *Reader) grown(size int) int {
	size = max(minBuffer, 2*size)
	if f.limit > 0 {
		size = min(size, max(minBuffer, f.limit+1))
	}
	return size
}
