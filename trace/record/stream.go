package record

import (
	"bytes"
	"context"
	"errors"
	"io"
)

// stream hands on a watch, piece by piece.
func (x *live) stream(ctx context.Context, body io.Reader) bool {
	x.log.add(x.exchange, head{})
	if !x.send(ctx, []byte(chunkedHead)) {
		return false
	}
	line := assembly{}
	buf := make([]byte, 64<<10)
	for {
		n, err := body.Read(buf)
		for rest := buf[:n]; len(rest) > 0; {
			if !x.log.turn(x.exchange, ctx.Done()) {
				return x.end(hungUp)
			}
			// A trace has a chunk for each event, so the client gets that too.
			piece := rest
			if i := bytes.IndexByte(rest, '\n'); i >= 0 {
				piece = rest[:i+1]
			}
			rest = rest[len(piece):]
			if whole, split := line.add(piece); whole != nil {
				x.log.add(x.exchange, x.reduce.event(whole, split))
			}
			if !x.send(ctx, chunk(piece)) {
				return false
			}
		}
		if err == nil {
			continue
		}
		if ctx.Err() != nil || !x.log.turn(x.exchange, ctx.Done()) {
			return x.end(hungUp)
		}
		if begun := line.bytes; len(begun) > 0 {
			x.log.add(x.exchange, x.reduce.begunEvent(begun))
		}
		if !errors.Is(err, io.EOF) {
			return x.end(howEnded(err))
		}
		x.log.add(x.exchange, eof)
		return x.send(ctx, []byte(lastChunk))
	}
}

const lastChunk = "0\r\n\r\n"

// assembly puts lines together from the pieces that they came in.
type assembly struct {
	bytes []byte
	ends  []int // of pieces but the last
}

// add returns the line that a piece ends, if it ends one, and where its pieces
// ended. The line is valid until the next call.
func (a *assembly) add(piece []byte) (line []byte, split []float64) {
	a.bytes = append(a.bytes, piece...)
	if piece[len(piece)-1] != '\n' {
		a.ends = append(a.ends, len(a.bytes))
		return nil, nil
	}
	for _, end := range a.ends {
		split = append(split, float64(end)/float64(len(a.bytes)))
	}
	line = a.bytes
	a.bytes, a.ends = a.bytes[:0], a.ends[:0]
	return line, split
}
