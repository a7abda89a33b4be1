// Package websocket looks at watches over WebSocket of the real API server: what it
// asks of a handshake and how it answers one, and a mirror that goes on through five
// kills of it.
package websocket
