package pipe

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/internal/must"
)

// A read returns bytes of one write at most, so that what is split stays split.
func TestKeepsPieces(t *testing.T) {
	client, server := New()
	for _, piece := range []string{"abc", "", "de"} {
		if _, err := server.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	_ = server.Close()
	buf := make([]byte, 2)
	for _, want := range []string{"ab", "c", "de"} {
		if n, err := client.Read(buf); err != nil || string(buf[:n]) != want {
			t.Errorf("read %q, %v, want %q", buf[:n], err, want)
		}
	}
	if _, err := client.Read(buf); !errors.Is(err, io.EOF) {
		t.Errorf("error %v, want EOF", err)
	}
	if _, err := client.Write(buf); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("error %v of a write to nobody, want EPIPE", err)
	}
	_ = client.Close()
	if _, err := client.Write(buf); !errors.Is(err, net.ErrClosed) {
		t.Errorf("error %v of a write to a closed connection, want ErrClosed", err)
	}
}

func TestReset(t *testing.T) {
	client, server := New()
	if _, err := server.Write([]byte("a")); err != nil {
		t.Fatal(err)
	}
	server.Reset()
	buf := make([]byte, 2)
	if n, err := client.Read(buf); n != 1 || err != nil {
		t.Errorf("read %d, %v, want what was written before", n, err)
	}
	if _, err := client.Read(buf); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("error %v, want ECONNRESET", err)
	}
}

func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := New()
		defer server.Close()
		defer client.Close()
		begin := time.Now()
		must.OK(t, client.SetDeadline(begin.Add(time.Minute)))
		if _, err := client.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("error %v, want ErrDeadlineExceeded", err)
		}
		if passed := time.Since(begin); passed != time.Minute {
			t.Errorf("after %v, want 1m", passed)
		}
		must.OK(t, client.SetDeadline(time.Time{}))
		if _, err := server.Write([]byte("a")); err != nil {
			t.Fatal(err)
		}
		if n, err := client.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Errorf("read %d, %v without a deadline", n, err)
		}
	})
}
