package record

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/apitest"
)

// wires are the ways in which watches travel.
var wires = []struct {
	encoding Encoding
	socket   bool
}{{JSON, true}, {Protobuf, false}, {Protobuf, true}, {CBOR, false}, {CBOR, true}}

// following is a watch in an encoding that is cut in the middle of an event, and goes on; that ends, and goes on; and
// that expires during an outage.
func following(t *testing.T, encoding Encoding, socket bool) *conversation {
	t.Helper()
	opts := payments
	opts.Encoding, opts.WebSocket = encoding, socket
	return listenTo(t, apitest.Options{CBOR: true}, opts, fill, func(w *world) {
		after(10 * time.Second)
		w.put("payments", "dora", nil)
		w.remove("payments", "bob")
		after(90 * time.Second)
		w.server.CutWatches(40)
		w.put("payments", "alice", nil)
		after(20 * time.Second)
		w.server.EndWatches()
		after(2 * time.Second)
		w.put("payments", "bob", nil)
		after(2 * time.Second)
		w.crash(true)
		w.remove("payments", "carol")
		w.server.Compact()
		after(3 * time.Second)
		w.crash(false)
		after(20 * time.Second)
	})
}

// A conversation in each encoding, in bodies and over WebSocket, makes a trace that passes; so it does scrubbed. The
// recordings in testdata are two of them.
func TestRecordsEveryEncoding(t *testing.T) {
	for _, wire := range wires {
		t.Run(fmt.Sprintf("%s/socket=%t", wire.encoding, wire.socket), func(t *testing.T) {
			c := following(t, wire.encoding, wire.socket)
			start := "start path=/api/v1/namespaces/payments/configmaps"
			begins, ends := "< 200 watch\n", "< eof\n"
			if wire.socket {
				start += " transport=websocket"
				begins, ends = "< 101\n", "< close 1000\n"
			}
			if wire.encoding != JSON {
				start += " encoding=" + string(wire.encoding)
			}
			recorded(t, c, start+"\n", "\tpayments/alice@2 uid=5d5c4d2e-alice\n", begins,
				"< ADDED payments/dora@6 uid=5d5c4d2e-dora\n", "< DELETED payments/bob@7", "< BOOKMARK @7\n", "< cut\n",
				"< MODIFIED payments/alice@8 uid=5d5c4d2e-alice\n", ends, "< ADDED payments/bob@9",
				"< refuse\n", "< ERROR 410 Expired \"too old resource version: 9 (10)\"\n",
				"= payments/carol Deleted@5 (final state unknown)\n",
			)
			if name := string(wire.encoding) + ".txt"; wire.encoding == CBOR && !wire.socket || wire.encoding == Protobuf && wire.socket {
				golden(t, strings.ReplaceAll(name, "protobuf", "websocket-protobuf"), passes(t, scrub(c)))
			}
		})
	}
}

// What was asked for in an encoding that the server does not have comes in JSON, and so does the trace.
func TestRecordsWhatCame(t *testing.T) {
	opts := payments
	opts.Encoding = CBOR
	c := listenTo(t, apitest.Options{}, opts, fill, func(w *world) {
		after(2 * time.Second)
		w.put("payments", "dora", nil)
	})
	recorded(t, c, "start path=/api/v1/namespaces/payments/configmaps\n", "< ADDED payments/dora@6")
}
