package memnet

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
)

// Both ends write before either reads, and then hang up.
func TestBothWriteAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := New()
		accepted := make(chan net.Conn, 1)
		go func() {
			conn, err := network.Accept()
			if err != nil {
				t.Error(err)
			}
			accepted <- conn
		}()
		client, err := network.Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		server := <-accepted
		for _, text := range []string{"he", "llo"} {
			if _, err := io.WriteString(client, text); err != nil {
				t.Fatal(err)
			}
		}
		read := make([]byte, 5)
		if _, err := io.ReadFull(server, read); err != nil || string(read) != "hello" {
			t.Errorf("read %q, %v", read, err)
		}
		client.Close()
		if _, err := client.Write(read); err == nil {
			t.Error("a closed connection was written to")
		}
		if _, err := server.Read(read); err != io.EOF { //nolint:errorlint // as net.Pipe has it
			t.Errorf("read: %v", err)
		}
		network.Close()
		if _, err := network.Dial(t.Context(), "", ""); err == nil {
			t.Error("a closed network was reached")
		}
	})
}
