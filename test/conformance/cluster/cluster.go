package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/relist-go/relist/internal/must"
)

// Cluster is an etcd and a kube-apiserver that this process started.
// Its methods may be called from several goroutines.
type Cluster struct {
	opts      Options
	dir       string
	temporary bool // dir is removed by Stop
	apiPort   int
	peerPort  int
	etcdURL   string
	access    Access
	http      *http.Client

	releasePorts func() error

	mu        sync.Mutex // held while a program starts or ends
	etcd      *process   // nil while it does not run
	apiServer *process
}

// Start starts etcd and the API server and returns when both answer, which takes
// 5 seconds or so. ctx bounds the start alone; Stop ends what was started. When the start fails,
// the error quotes the log of the program that failed.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	c, err := prepare(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("start cluster: %w", err)
	}
	if err = c.StartEtcd(ctx); err == nil {
		err = c.StartAPIServer(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// New starts a cluster for a test, which ends with the test. When the test fails,
// the ends of the programs' logs are printed.
func New(tb testing.TB, opts Options) *Cluster {
	tb.Helper()
	c, err := Start(tb.Context(), opts)
	must.OK(tb, err)
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Log(c.Logs())
		}
		if err := c.Stop(); err != nil {
			tb.Errorf("stop the cluster: %v", err)
		}
	})
	return c
}

// prepare makes the folder of a cluster and all that is in it before the programs start.
func prepare(ctx context.Context, opts Options) (c *Cluster, err error) {
	c = &Cluster{opts: opts, dir: opts.Dir}
	if c.dir == "" {
		c.temporary = true
		if c.dir, err = os.MkdirTemp("", "relist-cluster-"); err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, os.RemoveAll(c.dir))
			}
		}()
	} else {
		if c.dir, err = filepath.Abs(c.dir); err != nil {
			return nil, err
		}
		if err = os.MkdirAll(c.dir, 0o700); err != nil {
			return nil, err
		}
	}
	ports, release, err := takePorts(ctx, 3)
	if err != nil {
		return nil, err
	}
	c.releasePorts = release
	defer func() {
		if err != nil {
			err = errors.Join(err, release())
		}
	}()
	c.apiPort, c.peerPort = ports[0], ports[1]
	c.etcdURL = fmt.Sprintf("http://127.0.0.1:%d", ports[2])
	if c.access, err = newAccess(c.dir, c.apiPort); err != nil {
		return nil, err
	}
	if err = c.access.writeKubeconfig(c.Kubeconfig()); err != nil {
		return nil, err
	}
	if c.http, err = c.access.HTTPClient(); err != nil {
		return nil, err
	}
	return c, nil
}

// Ports are taken from below the range from which kernels choose the local end
// of an outgoing connection (32768 and up on Linux, 49152 and up elsewhere). While the API
// server is down, a client that dials its port again and again must not be given
// that port for its own end: it would then be connected to itself, and the server
// could not start again.
const (
	firstPort = 20000
	lastPort  = 32000
)

// takePorts takes n loopback ports on which nothing listens, all different. Until the function
// that it returns is called, no other cluster is given them, though nothing listens on them before
// the programs have started, nor while they are stopped: a port is taken by whoever holds the UDP
// port of the same number.
func takePorts(ctx context.Context, n int) (ports []int, release func() error, err error) {
	var listen net.ListenConfig
	var held []io.Closer
	release = func() (err error) {
		for _, c := range held {
			err = errors.Join(err, c.Close())
		}
		held = nil
		return err
	}
	for range 100 * n {
		port := firstPort + rand.IntN(lastPort-firstPort)
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		claim, err := listen.ListenPacket(ctx, "udp", address)
		if err != nil {
			continue // taken by another cluster
		}
		l, err := listen.Listen(ctx, "tcp", address)
		if err == nil {
			err = l.Close()
		}
		if err != nil { // taken by another program
			_ = claim.Close()
			continue
		}
		held = append(held, claim)
		if ports = append(ports, port); len(ports) == n {
			return ports, release, nil
		}
	}
	return nil, nil, errors.Join(release(), fmt.Errorf("no %d free ports between %d and %d on 127.0.0.1", n, firstPort, lastPort))
}

// Kubeconfig returns the path of a kubeconfig with the contexts admin (the
// current one), admin-cert (the same rights, by client certificate) and powerless.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.dir, "kubeconfig") }

// Access returns the address and the credentials that the kubeconfig holds.
func (c *Cluster) Access() Access { return c.access }

// Stop kills both programs and removes the temporary folder, if there is one.
// Stopping twice is allowed.
func (c *Cluster) Stop() error {
	err := errors.Join(c.KillAPIServer(), c.StopEtcd(), c.releasePorts())
	c.http.CloseIdleConnections()
	if c.temporary {
		err = errors.Join(err, os.RemoveAll(c.dir))
	}
	return err
}

// Logs returns the last lines of each program's log.
func (c *Cluster) Logs() string {
	return fmt.Sprintf("--- etcd:\n%s\n--- kube-apiserver:\n%s\n",
		tail(c.logFile("etcd"), 20), tail(c.logFile("kube-apiserver"), 40))
}

func (c *Cluster) logFile(program string) string { return filepath.Join(c.dir, program+".log") }

// start runs a program and waits until answers returns nil.
func (c *Cluster) start(ctx context.Context, slot **process, name string, args []string, answers func(context.Context) error) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if *slot != nil && (*slot).ended() == nil {
		return fmt.Errorf("start %s: it runs already", name)
	}
	path, err := FindProgram(name)
	if err != nil {
		return err
	}
	if *slot, err = startProcess(path, c.logFile(name), args); err != nil {
		return err
	}
	if err := c.await(ctx, *slot, answers); err != nil {
		return fmt.Errorf("start %s: %w\n%s", name, errors.Join(err, (*slot).kill()), tail(c.logFile(name), 20))
	}
	return nil
}

// pollInterval is how often a program that starts is asked whether it is ready.
// Neither program has a way to say so of itself.
const pollInterval = 50 * time.Millisecond

// startTimeout bounds each start of a program, until it answers.
const startTimeout = 2 * time.Minute

func (c *Cluster) await(ctx context.Context, p *process, answers func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for {
		err := answers(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-poll.C:
		case <-p.done:
			return p.ended()
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w, last answer: %w", ctx.Err(), err)
		}
	}
}

func (c *Cluster) kill(slot **process) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if *slot == nil {
		return nil
	}
	err := (*slot).kill()
	*slot = nil
	return err
}
