package transport_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/internal/pipes"
	"github.com/relist-go/relist/internal/rotating"
	"github.com/relist-go/relist/transport"
)

// TestRotation keeps a mirror for a minute in which everything that it was configured
// with is good for about five seconds. Nothing is listed again, and a 401 is answered by
// another try, not by a storm of them.
func TestRotation(t *testing.T) {
	// Watches end after whole seconds, and no rotation comes at one: what happens in one instant has no order.
	const life, rotations = 5*time.Second + 70*time.Millisecond, 12
	for _, kind := range rotating.Kinds {
		for _, protocol := range []transport.Protocol{transport.ProtocolHTTP1, transport.ProtocolHTTP2} {
			t.Run(string(kind)+" over "+protocol.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					world := rotating.New(t, kind, life)
					network := pipes.New()
					stop := world.Serve(network)
					cfg := world.Config(rotating.Host)
					cfg.Dial, cfg.Protocol = network.Dial, protocol
					client, err := transport.NewClient(cfg)
					if err != nil {
						t.Fatal(err)
					}
					seen := world.Run(t.Context(), client, rotations)
					known := kind == rotating.ExecExpires || kind == rotating.Authority
					if known && seen.Unauthorized > 0 {
						t.Errorf("%d requests were refused, although it was known beforehand that they would be", seen.Unauthorized)
					}
					client.Close()
					stop()
					if err := world.API.Close(); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}
