package demo

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
)

// pair returns a connection of n and its other end.
func pair(t *testing.T, n *network) (client, server net.Conn) {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err = n.dial(t.Context(), "tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err = ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

func TestSilence(t *testing.T) {
	n := newNetwork()
	client, server := pair(t, n)
	n.silence()
	if written, err := client.Write([]byte("lost")); written != 4 || err != nil {
		t.Errorf("Write = %d, %v; want it to look well", written, err)
	}
	read := make(chan error, 1)
	go func() {
		_, err := client.Read(make([]byte, 10))
		read <- err
	}()
	if _, err := server.Write([]byte("lost too")); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-read:
		t.Fatalf("Read returned %v", err)
	default:
	}
	client.Close()
	if err := <-read; err == nil {
		t.Error("Read returned data of a silent connection")
	}
	if n.givenUp.Load() != 1 || len(n.open()) != 0 {
		t.Errorf("%d given up, %d open", n.givenUp.Load(), len(n.open()))
	}
	if got, _ := io.ReadAll(server); len(got) > 0 {
		t.Errorf("the server received %q", got)
	}
}

func TestCut(t *testing.T) {
	n := newNetwork()
	client, _ := pair(t, n)
	n.cut()
	if _, err := client.Read(make([]byte, 10)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("Read = %v, want a reset", err)
	}
}
