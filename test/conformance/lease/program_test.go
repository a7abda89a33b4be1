package lease

import (
	"context"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist"
	"github.com/relist-go/relist/controller"
	"github.com/relist-go/relist/controller/lease"
	"github.com/relist-go/relist/internal/writes"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

// The test binary is the program if this variable has the address of a server. It has no gate if
// that ends with #.
const serverVariable = "LEASE_TEST_SERVER"

func TestMain(m *testing.M) {
	if server := os.Getenv(serverVariable); server != "" {
		if err := run(context.Background(), server); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// duration is that of the lease: as short as it can be on a machine that is busy with other tests.
const duration = 3 * time.Second

// counter is a ConfigMap with a number.
type counter struct {
	metav1.ObjectMeta `json:"metadata"`

	Data map[string]string `json:"data,omitempty"`
}

// stamp says in each request who sends it, and when: the gate was passed just before.
type stamp struct{ base http.RoundTripper }

func (s stamp) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("X-Process", strconv.Itoa(os.Getpid()))
	req.Header.Set("X-Began", strconv.FormatInt(time.Now().UnixNano(), 10))
	return s.base.RoundTrip(req)
}

// run is a controller that counts in ConfigMaps, without a condition: if it reads an old copy, or
// writes when another process has led, a number does not grow.
func run(ctx context.Context, server string) error {
	server, gateless := strings.CutSuffix(server, "#")
	client, err := transport.NewClient(transport.Config{Server: server, RoundTripper: stamp{&http.Transport{}}})
	if err != nil {
		return err
	}
	counters, err := relist.New(client, object.Type{Version: "v1", Resource: "configmaps", Kind: "ConfigMap"}, relist.Options[*counter]{
		ListWatch: listwatch.Options[*counter]{Namespace: "default"},
	})
	if err != nil {
		return err
	}
	leader, err := lease.New(client, lease.Options{Namespace: "default", Name: "counting", Duration: duration})
	if err != nil {
		return err
	}
	reconcile := func(ctx context.Context, key string) (time.Duration, error) {
		have, exists := counters.Store().Get(key)
		if !exists {
			return 0, nil
		}
		ctx = context.WithoutCancel(ctx) // the gate alone stops it
		if gateless {
			ctx = writes.WithGate(ctx, func() (func(), error) { return func() {}, nil })
		}
		n, _ := strconv.Atoi(have.Data["n"])
		for range 3 {
			n++
			if _, err := counters.MergePatch(ctx, key, map[string]any{"data": map[string]string{"n": strconv.Itoa(n)}}); err != nil {
				return 0, err
			}
		}
		return time.Millisecond, nil
	}
	return controller.Run(ctx, reconcile, controller.Options{Leader: leader, Workers: keys}, controller.For(counters))
}
