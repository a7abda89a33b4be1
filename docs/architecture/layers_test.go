package architecture

import (
	"os/exec"
	"strings"
	"testing"
)

// A program with an HTTP stack of its own has the machine, the reflector, the queue, the store and
// the informer without ours: these packages need no connections, no WebSockets and no decoders.
// (metav1 of apimachinery imports net/http, x/net/http2 and a decoder of CBOR, so those are linked
// with any of them.)
func TestCoreNeedsNoTransport(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "./protocol", "./reflector", "./deltafifo", "./store", "./informer")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	ours := 0
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		for _, bad := range []string{
			"github.com/relist-go/relist/transport", "github.com/gorilla/", "github.com/go-json-experiment/",
			"github.com/relist-go/relist/listwatch/json", "github.com/relist-go/relist/listwatch/format",
		} {
			if strings.HasPrefix(name, bad) {
				t.Errorf("the core needs %s", name)
			}
		}
		if name == "github.com/relist-go/relist/listwatch" {
			t.Errorf("the core needs %s, and not only its package source", name)
		}
		if strings.HasPrefix(name, "github.com/relist-go/relist/") {
			ours++
		}
	}
	if ours < 6 {
		t.Errorf("%d packages of this module were listed", ours)
	}
}
