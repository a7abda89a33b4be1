package apitest

// TB has the methods of a test that Start needs: *testing.T, *testing.B and *testing.F implement it. It is not
// [testing.TB], so that a program which uses this package does not link package testing and its flags.
type TB interface {
	Helper()
	Cleanup(func())
	Fatal(args ...any)
}

// Start returns a server that listens on loopback until the test has ended, and its URL for a client. It is New and Listen
// and Close, in one line. Register a Cleanup that stops the client after Start, so that it runs before the server is closed.
func Start(t TB, opts Options) (server *Server, url string) {
	t.Helper()
	server = New(opts)
	closeAfter(t, server)
	listener, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal("start an API server for tests:", err)
	}
	return server, listener.URL
}

// closeAfter closes the server at the end of the test.
func closeAfter(t TB, server *Server) {
	t.Helper()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Fatal("close the API server for tests:", err)
		}
	})
}
