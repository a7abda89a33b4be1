package rotation

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/relist-go/relist/internal/rotating"
	"github.com/relist-go/relist/transport"
)

// TestAMinute keeps a mirror for a minute in which its credential is good for five
// seconds at a time: all kinds of them at once, on however few cores there are.
func TestAMinute(t *testing.T) {
	var all sync.WaitGroup
	for _, kind := range rotating.Kinds {
		all.Go(func() {
			t.Run(string(kind), func(t *testing.T) { aMinute(t, kind) })
		})
	}
	all.Wait()
}

func aMinute(t *testing.T, kind rotating.Kind) {
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
}
