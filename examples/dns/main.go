// Dns answers for headless Services over UDP: the addresses of the ready endpoints of
// web.shop.svc.cluster.local.
//
//	go run ./examples/dns 127.0.0.1:5353
//	dig @127.0.0.1 -p 5353 web.shop.svc.cluster.local
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/net/dns/dnsmessage"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/store"
	"github.com/relist-go/relist/transport"
)

// Slice has the fields of an EndpointSlice that an answer needs.
type Slice struct {
	metav1.ObjectMeta `json:"metadata"`

	Endpoints []struct {
		Addresses  []netip.Addr `json:"addresses"`
		Conditions struct {
			Ready *bool `json:"ready"` // nil means yes
		} `json:"conditions"`
	} `json:"endpoints"`
}

const (
	zone = ".svc.cluster.local."
	ttl  = 5 // seconds
)

var slicesResource = schema.GroupVersionResource{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}

// open returns a cache of the slices of headless Services, by the name of the Service.
func open(client *transport.Client) (*informer.Informer[*Slice], error) {
	headless, err := listwatch.New(client, slicesResource, listwatch.Options[*Slice]{LabelSelector: "service.kubernetes.io/headless"})
	if err != nil {
		return nil, err
	}
	return informer.New(headless, informer.Options[*Slice]{Indexers: store.Indexers[*Slice]{
		"name": func(s *Slice) []string {
			return []string{s.Labels["kubernetes.io/service-name"] + "." + s.Namespace + zone}
		},
	}}), nil
}

// answer makes the answer to a query, or returns nil if the query cannot be read.
func answer(cache informer.Reader[*Slice], query []byte) []byte {
	var p dnsmessage.Parser
	header, err := p.Start(query)
	if err != nil || header.Response {
		return nil
	}
	question, err := p.Question()
	if err != nil {
		return nil
	}
	header = dnsmessage.Header{ID: header.ID, Response: true, Authoritative: true, RecursionDesired: header.RecursionDesired}
	found, err := cache.ByIndex("name", strings.ToLower(question.Name.String()))
	if err != nil || len(found) == 0 {
		header.RCode = dnsmessage.RCodeNameError
	}
	message := dnsmessage.Message{Header: header, Questions: []dnsmessage.Question{question}}
	for _, addr := range addresses(found) {
		h := dnsmessage.ResourceHeader{Name: question.Name, Class: dnsmessage.ClassINET, TTL: ttl}
		switch {
		case addr.Is4() && question.Type == dnsmessage.TypeA:
			message.Answers = append(message.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: addr.As4()}})
		case addr.Is6() && question.Type == dnsmessage.TypeAAAA:
			message.Answers = append(message.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}})
		}
	}
	reply, err := message.Pack()
	if err == nil && len(reply) > 512 { // the most that every client takes over UDP: it asks again over TCP
		message.Truncated, message.Answers = true, nil
		reply, err = message.Pack()
	}
	if err != nil {
		return nil
	}
	return reply
}

// addresses returns the addresses of the ready endpoints, each once. An endpoint can be in two
// slices for a moment.
func addresses(found []*Slice) (all []netip.Addr) {
	for _, s := range found {
		for _, e := range s.Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				all = append(all, e.Addresses...)
			}
		}
	}
	slices.SortFunc(all, netip.Addr.Compare)
	return slices.Compact(all)
}

// serve answers until the connection is closed.
func serve(conn net.PacketConn, cache informer.Reader[*Slice]) error {
	for query := make([]byte, 512); ; {
		n, from, err := conn.ReadFrom(query)
		if err != nil {
			return err
		}
		if reply := answer(cache, query[:n]); reply != nil {
			_, _ = conn.WriteTo(reply, from) // if it is lost, the client asks again
		}
	}
}

func run(ctx context.Context, config transport.Config, address string) error {
	client, err := transport.NewClient(config)
	if err != nil {
		return err
	}
	defer client.Close()
	cache, err := open(client)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		stop(cache.Run(ctx))
	}()
	stop(listen(ctx, cache, address)) // the first reason to end counts
	<-ended
	return context.Cause(ctx)
}

// listen answers on an address until ctx ends. It first waits for the first list, because a name
// that is not there yet must not be answered with "no such name".
func listen(ctx context.Context, cache *informer.Informer[*Slice], address string) error {
	if err := cache.WaitForSync(ctx); err != nil {
		return err
	}
	conn, err := new(net.ListenConfig).ListenPacket(ctx, "udp", address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	return serve(conn, cache.Store())
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: dns ADDRESS")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	config, err := transport.LoadKubeconfig(transport.KubeconfigOptions{})
	if err == nil {
		err = run(ctx, config, os.Args[1])
	}
	stop()
	if !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
