package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// FrameError is a watch stream that is not a sequence of frames. What comes after
// Offset cannot be trusted; open a new watch.
type FrameError struct {
	Offset int64  // of the offending byte, from the start of the stream; in a WebSocket the bytes of messages count
	Head   string // what is there, as far as it had arrived, at most 64 bytes, without credentials
	Reason string
}

// Error gives the offset, the reason and the bytes.
func (e *FrameError) Error() string {
	return fmt.Sprintf("malformed frame at byte %d of the stream: %s, at %q", e.Offset, e.Reason, e.Head)
}

// FrameTooLargeError is a frame over the limit. The stream goes on: the next call
// of Next skips the rest of the frame and returns the one after it.
type FrameTooLargeError struct {
	Limit  int
	Offset int64  // of the frame's first byte, from the start of the stream
	Head   []byte // the frame's first bytes, at most 4096, without credentials: enough, as a rule, to tell which object
}

// Error gives the limit and the offset.
func (e *FrameTooLargeError) Error() string {
	return fmt.Sprintf("frame at byte %d of the stream is larger than %d bytes (Config.MaxFrameBytes)", e.Offset, e.Limit)
}

var errNUL = errors.New("NUL byte")

const (
	// minBuffer is the size that a buffer starts with and goes back to.
	minBuffer = 16 << 10
	// keepBuffer is the size up to which a grown buffer is kept for the next frame:
	// a larger one is given back before the stream waits again.
	keepBuffer = 64 << 10

	// frameErrorHead and frameTooLargeHead bound what errors quote.
	frameErrorHead    = 64
	frameTooLargeHead = 4096

	// maxEmptyReads is how often a reader may return nothing, as in bufio.
	maxEmptyReads = 100
)

// quoteFunc returns the first bytes of a text, at most bound, as an error may quote it;
// see [exchange.quote].
type quoteFunc func(text []byte, bound int) []byte

// quoteAll is for a text in which there is nothing to hide.
func quoteAll(text []byte, bound int) []byte { return text[:min(len(text), bound)] }

// grammar knows where a frame begins and ends, in whatever pieces its bytes come.
type grammar interface {
	// begin tells of a byte after the end of a frame whether it begins one, or may
	// stand between two. wants names what does, for an error.
	begin(c byte) (begins, between bool)
	wants() string

	// scan reads on in a frame. It returns the number of bytes read, and whether the
	// last of them ended the frame. On an error, n is the place of the byte that caused
	// it.
	scan(b []byte) (n int, done bool, err error)

	// check looks at a frame that is whole for what scan has passed over. On an error, i
	// is its place.
	check(frame []byte) (i int, err error)
}

// frameReader cuts a stream of frames that show by themselves where they end: of
// concatenated JSON objects, with any white space between them, or of CBOR.
//
//	buf:  ....frame just returned....{"type":"ADDED","obj...........
//	                                 ^start             ^scanned=end
//
// The scanner has seen buf[start:scanned], so that no byte is scanned twice however
// the stream is split.
type frameReader struct {
	r     io.Reader
	limit int // of a frame; 0 is unlimited

	quote quoteFunc // of what an error is about

	buf     []byte
	start   int
	scanned int
	end     int
	offset  int64 // of buf[start] in the stream

	scan     grammar
	inFrame  bool   // buf[start] is the first byte of a frame
	skipping bool   // inside an object that was too large: its bytes are dropped
	ahead    []byte // what cut has found for next, or aheadErr
	aheadErr error
	err      error
	readErr  error // what the reader said last; it counts once all bytes before it are used
}

func newFrameReader(r io.Reader, limit int) *frameReader {
	return &frameReader{r: r, limit: limit, quote: quoteAll, scan: new(scanner)}
}

// next returns the next object, valid until the next call. It returns io.EOF at an
// end between two objects, and reads no further than it must.
func (f *frameReader) next() ([]byte, error) {
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

// ready looks for the next object in what is in the buffer.
func (f *frameReader) ready() bool {
	if f.ahead == nil && f.aheadErr == nil && f.err == nil {
		f.ahead, f.aheadErr = f.cut()
	}
	return f.ahead != nil || f.aheadErr != nil || f.err != nil
}

// cut takes the next object out of what is in the buffer; nil if it is not all
// there. An error that ends the stream is left in f.err.
func (f *frameReader) cut() ([]byte, error) {
	for f.start < f.end {
		if !f.inFrame && !f.findStart() {
			return nil, nil
		}
		n, done, err := f.scan.scan(f.buf[f.scanned:f.scanEnd()])
		f.scanned += n
		if err != nil {
			f.malformed(f.scanned, err.Error())
			return nil, nil
		}
		if f.skipping {
			f.drop(f.scanned)
			if !done {
				return nil, nil
			}
			f.inFrame, f.skipping = false, false
			continue
		}
		if f.limit > 0 && f.scanned-f.start > f.limit {
			return nil, f.tooLarge(done)
		}
		if !done {
			return nil, nil
		}
		data := f.buf[f.start:f.scanned:f.scanned]
		if i, err := f.scan.check(data); err != nil {
			f.malformed(f.start+i, err.Error())
			return nil, nil
		}
		f.drop(f.scanned)
		f.inFrame = false
		return data, nil
	}
	return nil, nil
}

// scanEnd is how far cut may scan: to one byte over the limit. What is in the rest of
// a frame must not decide whether it is too large or malformed, or else that would
// depend on how the stream was split.
func (f *frameReader) scanEnd() int {
	if f.limit > 0 && !f.skipping && f.limit < f.end-f.start {
		return f.start + f.limit + 1
	}
	return f.end
}

// findStart goes over what may stand between two frames to the first byte of one, and
// reports whether it is in the buffer.
func (f *frameReader) findStart() bool {
	for i := f.start; i < f.end; i++ {
		begins, between := f.scan.begin(f.buf[i])
		switch {
		case between:
			continue
		case begins:
			f.drop(i)
			f.inFrame = true
			return true
		}
		f.drop(i)
		f.malformed(i, "want "+f.scan.wants())
		return false
	}
	f.drop(f.end)
	return false
}

// drop forgets the bytes before buf[to].
func (f *frameReader) drop(to int) {
	f.offset += int64(to - f.start)
	f.start, f.scanned = to, to
}

// malformed ends the stream with an error about buf[at].
func (f *frameReader) malformed(at int, reason string) {
	f.err = &FrameError{
		Offset: f.offset + int64(at-f.start),
		Head:   string(f.quote(f.buf[at:f.end], frameErrorHead)),
		Reason: reason,
	}
}

// tooLarge gives up the object at buf[start], of which scanned bytes were seen.
func (f *frameReader) tooLarge(done bool) error {
	head := f.quote(f.buf[f.start:f.scanned], frameTooLargeHead)
	err := &FrameTooLargeError{Limit: f.limit, Offset: f.offset, Head: bytes.Clone(head)}
	f.drop(f.scanned)
	f.inFrame, f.skipping = !done, !done
	return err
}

// fill makes room and reads once.
func (f *frameReader) fill() {
	if f.readErr != nil {
		f.err = f.readErr
		if f.inFrame && f.readErr == io.EOF { //nolint:errorlint // only the bare one is an end
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

// makeRoom leaves at least one free byte at the end of the buffer, with what is
// unread at its start.
func (f *frameReader) makeRoom() {
	unread := f.buf[f.start:f.end]
	switch {
	case cap(f.buf) > keepBuffer && len(unread) <= minBuffer/2:
		// The large frame is over. One that is still growing has filled its buffer.
		f.buf = make([]byte, minBuffer)
	case len(unread) == len(f.buf):
		f.buf = make([]byte, f.grown(len(unread)))
	case f.start == 0:
		return // there is room behind what is unread
	}
	// The memory between start and end of the old buffer may overlap that of the new.
	f.end = copy(f.buf, unread)
	f.scanned -= f.start
	f.start = 0
}

// grown returns the next size of a buffer that is full with size bytes.
func (f *frameReader) grown(size int) int {
	size = max(minBuffer, 2*size)
	if f.limit > 0 {
		// One byte over the limit tells that the frame is too large.
		size = min(size, max(minBuffer, f.limit+1))
	}
	return size
}
