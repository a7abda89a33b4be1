package connect

import (
	"fmt"
	"io"
	"testing"

	"github.com/relist-go/relist/transport"
)

// A connection that ends before the answer is no end in good order, although its error is io.EOF,
// too.
func TestCauseOfAnEnd(t *testing.T) {
	unanswered := fmt.Errorf("list pods: %w", &transport.RequestError{Op: "get", URL: "https://api.example/api/v1/pods", Err: io.EOF})
	if inOrder, cut := Cause(io.EOF), Cause(unanswered); inOrder != "" || cut != "EOF" {
		t.Errorf("the cause of an end in good order is %q, and that of a request without an answer %q", inOrder, cut)
	}
}
