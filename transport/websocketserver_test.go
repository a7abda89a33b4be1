package transport

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/relist-go/relist/internal/must"
)

// The opcodes of frames (RFC 6455, section 5.2).
const (
	opContinue = 0x0
	opText     = 0x1
	opBinary   = 0x2
	opClose    = 0x8
	opPing     = 0x9
	opPong     = 0xa
)

// frame is one as servers send it: without a mask.
func frame(op byte, last bool, payload string) []byte {
	if last {
		op |= 0x80
	}
	var head []byte
	switch n := len(payload); {
	case n < 126:
		head = []byte{op, byte(n)}
	case n < 1<<16:
		head = binary.BigEndian.AppendUint16([]byte{op, 126}, uint16(n))
	default:
		head = binary.BigEndian.AppendUint64([]byte{op, 127}, uint64(n))
	}
	return append(head, payload...)
}

func text(payload string) []byte { return frame(opText, true, payload) }

// closing is the frame that ends a WebSocket.
func closing(code uint16, reason string) []byte {
	return frame(opClose, true, string(binary.BigEndian.AppendUint16(nil, code))+reason)
}

// acceptKey answers that of a handshake.
func acceptKey(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// serverSocket is the server's end of a WebSocket, without a library of its own.
type serverSocket struct {
	net.Conn
	in  *bufio.Reader
	req *http.Request
}

// send writes frames. The client may have seen enough.
func (s *serverSocket) send(frames ...[]byte) {
	for _, f := range frames {
		_, _ = s.Write(f)
	}
}

// receive reads a frame of the client's, which must have a mask.
func (s *serverSocket) receive() (op byte, payload string, err error) {
	var head [6]byte
	if _, err := io.ReadFull(s.in, head[:]); err != nil {
		return 0, "", err
	}
	n := int(head[1] & 0x7f)
	if head[1]&0x80 == 0 || n > 125 {
		return 0, "", io.ErrUnexpectedEOF // no frame of a client that has nothing to say
	}
	data := make([]byte, n)
	_, err = io.ReadFull(s.in, data)
	for i := range data {
		data[i] ^= head[2+i%4]
	}
	return head[0] & 0xf, string(data), err
}

// drain reads until the client is gone.
func (s *serverSocket) drain() { _, _ = io.Copy(io.Discard, s.in) }

// upgrade is a handler that accepts every handshake.
func upgrade(serve func(*serverSocket)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		conn, in, err := http.NewResponseController(w).Hijack()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
			"Sec-WebSocket-Accept: "+acceptKey(r.Header.Get("Sec-Websocket-Key"))+"\r\n\r\n")
		serve(&serverSocket{Conn: conn, in: in.Reader, req: r})
	}
}

// serveSockets starts a server on loopback that accepts every handshake.
func serveSockets(t testing.TB, handle func(*serverSocket)) Config {
	t.Helper()
	cfg := serve(t, upgrade(handle))
	cfg.WatchTransport = WatchWebSocket
	return cfg
}

// sending makes a Config whose server sends bytes after the handshake, and hangs up. It
// reads what the client answers: what a connection has not read when it is closed becomes
// a reset, which takes from the client what it has not read either.
func sending(t testing.TB, data ...[]byte) Config {
	return serveSockets(t, func(s *serverSocket) {
		s.send(data...)
		if tcp, ok := s.Conn.(*net.TCPConn); ok && tcp.CloseWrite() == nil {
			s.drain()
		}
	})
}

// readFrames reads a watch to its end.
func readFrames(t testing.TB, cfg Config) (frames []string, err error) {
	t.Helper()
	s, err := newTestClient(t, cfg).Watch(t.Context(), Request{Frames: jsonFrames, Path: "/"})
	must.OK(t, err)
	defer s.Close()
	for {
		frame, err := s.Next()
		if err != nil {
			return frames, err
		}
		frames = append(frames, string(frame.Data))
	}
}
