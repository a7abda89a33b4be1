package transport

import "testing"

func TestWatchTransportNames(t *testing.T) {
	if got := WatchAuto.String() + WatchHTTP.String() + WatchWebSocket.String(); got != "autoHTTPWebSocket" {
		t.Error(got)
	}
}

// A transport can be compared, which is how a program asks which one a Config has, and
// each is another one.
func TestWatchTransportsDiffer(t *testing.T) {
	if WatchAuto == WatchHTTP || WatchHTTP == WatchWebSocket || WatchAuto == WatchWebSocket {
		t.Error("two transports are one")
	}
}
