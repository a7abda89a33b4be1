package main

import (
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/relist-go/relist/cmd/internal/cli/report"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"
)

// A terminal of 40 columns has room for the reason of a failure.
func TestNarrowStatusLineHasTheReason(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 443}, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	now := time.Now()
	line := stateLine(reflector.Status{
		State: reflector.Waiting, FailingSince: now.Add(-12 * time.Second),
		LastError: fmt.Errorf("watch pods: %w", &transport.RequestError{Op: "watch", URL: "https://192.0.2.1/api/v1/pods", Err: refused}),
	}, 30, now)
	if want := "failing for 12s: connection refused (192.0.2.1:443), waiting, 30 objects"; line != want {
		t.Errorf("the line is %q, want %q", line, want)
	}
	if got, want := report.Cut("  "+line, 39), "  failing for 12s: connection refused…"; got != want {
		t.Errorf("in 40 columns it is %q, want %q", got, want)
	}
}
