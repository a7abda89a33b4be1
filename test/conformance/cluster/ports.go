package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are taken from below the range from which kernels choose the local end
// of an outgoing connection (32768 and up on Linux, 49152 and up elsewhere). While the API
// server is down, a client that dials its port again and again must not be given
// that port for its own end: it would then be connected to itself, and the server
// could not start again.
const (
	firstPort = 20000
	lastPort  = 32000
)

// freePorts returns n loopback ports on which nothing listens, all different.
func freePorts(ctx context.Context, n int) ([]int, error) {
	var listen net.ListenConfig
	var ports []int
	for range 100 * n {
		port := firstPort + rand.IntN(lastPort-firstPort)
		l, err := listen.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue // taken: try another
		}
		// Held until all are found, which is what makes them differ.
		defer l.Close() //nolint:errcheck // a listener that fails to close is closed with the process
		ports = append(ports, port)
		if len(ports) == n {
			return ports, nil
		}
	}
	return nil, fmt.Errorf("no %d free ports between %d and %d on 127.0.0.1", n, firstPort, lastPort)
}
