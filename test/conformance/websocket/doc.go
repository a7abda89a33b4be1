// Package websocket looks at watches over WebSocket of the real API server: what it asks of a
// handshake, and how it answers one. Package mirror mirrors over them.
package websocket
