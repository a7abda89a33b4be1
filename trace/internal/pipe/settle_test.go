package pipe

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// Settle waits until all was read and more is wanted, and no longer.
func TestSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := New()
		_, _ = server.Write([]byte("ab"))
		settled := make(chan error, 1)
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
		read := make(chan error, 1)
		go func() {
			_, err := client.Read(buf)
			read <- err
		}()
		if err := <-settled; err != nil {
			t.Error(err)
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
	if err := server.Settle(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	_ = client.Close()
	if err := server.Settle(t.Context()); err != nil {
		t.Errorf("error %v after the other end has closed", err)
	}
}
