package rotation

import (
	"net"
	"testing"
	"time"

	"github.com/relist-go/relist/internal/rotating"
	"github.com/relist-go/relist/transport"
)

// TestAMinute keeps a mirror for a minute in which its credential is good for five
// seconds at a time: all kinds of them at once.
func TestAMinute(t *testing.T) {
	for _, kind := range rotating.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			world := rotating.New(t, kind, 5*time.Second)
			ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", rotating.Host+":0")
			if err != nil {
				t.Fatal(err)
			}
			defer world.API.Close()
			defer world.Serve(ln)()
			client, err := transport.NewClient(world.Config(ln.Addr().String()))
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			world.Run(t.Context(), client, 12)
		})
	}
}
