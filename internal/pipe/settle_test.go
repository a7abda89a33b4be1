package pipe

import (
	"context"
	"testing"
	"testing/synctest"
)

// Settle waits until all was read and more is wanted, and no longer.
func TestSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := New()
		_, _ = server.Write([]byte("ab"))
		settled := make(chan bool, 1)
		go func() { settled <- server.Settle(t.Context()) }()
		buf := make([]byte, 1)
		for range 2 {
			if _, err := client.Read(buf); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if len(settled) > 0 {
				t.Fatal("settled, and nobody has asked for more")
			}
		}
		read := make(chan struct{})
		go func() {
			defer close(read)
			_, _ = client.Read(buf) // it is there to wait
		}()
		if !<-settled {
			t.Error("not settled, and the client waits for more")
		}
		_ = client.Close()
		<-read
		<-server.HungUp()
	})
}

func TestSettleEnds(t *testing.T) {
	client, server := New()
	_, _ = server.Write([]byte("a"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if server.Settle(ctx) {
		t.Error("settled when the context has ended")
	}
	_ = client.Close()
	if server.Settle(t.Context()) {
		t.Error("settled when the other end has closed")
	}
}
