// Command warmstart measures a start with a checkpoint beside a start without: when the objects can be read, when they are known to be
// up to date, what was listed, and how much memory it took. Server and client are processes of their own.
//
//	go run ./cmd/warmstart                          100,000 Pods of an apitest server
//	go run ./cmd/warmstart -slim                    the same, read into a type with a few fields
//	go run ./cmd/warmstart -real -objects 5000      ConfigMaps of a real kube-apiserver; `make conformance-bin` builds it
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/relist-go/relist/test/conformance/cluster"
)

// options are the flags.
type options struct {
	objects    int
	data       string
	real       bool
	starts     int
	serve      bool
	start      bool
	file       string
	kubeconfig string
	resource   string
	slim       bool
}

// drop is what is left out of a slim Pod.
func (o options) drop() []string {
	if o.slim {
		return []string{"metadata.managedFields", "metadata.annotations"}
	}
	return nil
}

func main() {
	var o options
	flag.IntVar(&o.objects, "objects", 100_000, "`number` of objects")
	flag.StringVar(&o.data, "data", "../../testdata/pods-300.json.gz", "`file` with a PodList, from which the Pods are made")
	flag.BoolVar(&o.real, "real", false, "ConfigMaps of a real kube-apiserver instead of Pods of apitest")
	flag.IntVar(&o.starts, "starts", 3, "`number` of starts of each kind")
	flag.BoolVar(&o.serve, "serve", false, "be the server; for the processes of this command")
	flag.BoolVar(&o.start, "start", false, "be one start; for the processes of this command")
	flag.StringVar(&o.file, "file", "", "`file` of the checkpoint of that start")
	flag.StringVar(&o.kubeconfig, "kubeconfig", "", "`file` that says where its server is")
	flag.StringVar(&o.resource, "resource", "pods", "what it reads: pods or configmaps")
	flag.BoolVar(&o.slim, "slim", false, "read Pods into a type with a few fields, instead of k8s.io/api")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch {
	case o.serve:
		err = serve(ctx, o)
	case o.start:
		err = start(ctx, o, os.Stdout)
	default:
		err = compare(ctx, o, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "warmstart:", err)
		os.Exit(1) //nolint:gocritic // the signal handler that is left ends with the process
	}
}

// compare makes starts of both kinds, and prints what each took.
func compare(ctx context.Context, o options, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "warmstart")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if o.real {
		o.resource = "configmaps"
		stop, err := realServer(ctx, &o)
		if err != nil {
			return err
		}
		defer func() { _ = stop() }() // its error would hide that of a start
	} else {
		stop, err := apitestServer(ctx, &o, filepath.Join(dir, "kubeconfig"))
		if err != nil {
			return err
		}
		defer stop()
	}
	o.file = filepath.Join(dir, "copy")
	_, _ = fmt.Fprintf(out, "%d %s\n%-6s %10s %10s %8s %8s %10s %10s %10s\n", o.objects, o.resource,
		"start", "readable", "synced", "listed", "asked", "RSS MB", "peak MB", "file MB") // the table goes to a terminal
	for _, kind := range []string{"cold", "warm"} {
		for range o.starts {
			if kind == "cold" {
				if err := os.Remove(o.file); err != nil && !errors.Is(err, os.ErrNotExist) {
					return err
				}
			}
			m, err := child(ctx, o)
			if err != nil {
				return fmt.Errorf("%s start: %w", kind, err)
			}
			size := int64(0)
			if info, err := os.Stat(o.file); err == nil {
				size = info.Size()
			}
			_, _ = fmt.Fprintf(out, "%-6s %10v %10v %8d %8d %10.0f %10.0f %10.1f\n", kind, m.Readable, m.Synced, m.Listed, m.Asked,
				m.RSS, m.Peak, float64(size)/1e6)
		}
	}
	return nil
}

// child makes one start in a process of its own.
func child(ctx context.Context, o options) (m measured, err error) {
	self, err := os.Executable()
	if err != nil {
		return m, err
	}
	cmd := exec.CommandContext(ctx, self, "-start", "-file", o.file, "-kubeconfig", o.kubeconfig, "-resource", o.resource, "-objects", fmt.Sprint(o.objects), fmt.Sprintf("-slim=%v", o.slim))
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(text, &m)
}

// apitestServer starts this program as the server, and waits until it has its objects.
func apitestServer(ctx context.Context, o *options, kubeconfig string) (stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, self, "-serve", "-objects", fmt.Sprint(o.objects), "-data", o.data)
	cmd.Stderr = os.Stderr
	lines, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	stop = func() {
		cancel()
		_ = cmd.Wait() // it was killed
	}
	url, err := bufio.NewReader(lines).ReadString('\n')
	if err == nil {
		err = os.WriteFile(kubeconfig, fmt.Appendf(nil, `
current-context: test
contexts: [{name: test, context: {cluster: test}}]
clusters: [{name: test, cluster: {server: %q}}]
`, url[:len(url)-1]), 0o600)
	}
	if err != nil {
		stop()
		return nil, err
	}
	o.kubeconfig = kubeconfig
	return stop, nil
}

// realServer starts a kube-apiserver, and creates the objects.
func realServer(ctx context.Context, o *options) (stop func() error, err error) {
	c, err := cluster.Start(ctx, cluster.Options{})
	if err != nil {
		return nil, err
	}
	o.kubeconfig = c.Kubeconfig()
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err == nil {
		err = createConfigMaps(ctx, config, o.objects)
	}
	if err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c.Stop, nil
}

func createConfigMaps(ctx context.Context, config *rest.Config, count int) error {
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	objects := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default")
	for i := range count {
		_, err := objects.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprintf("object-%06d", i)},
			"data": map[string]any{"number": fmt.Sprint(i)},
		}}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
	}
	return nil
}
