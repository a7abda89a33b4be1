package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"testing"
	"testing/synctest"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/store"
	"github.com/relist-go/relist/transport"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	m.Run()
}

func ask(t *testing.T, name string, typ dnsmessage.Type) []byte {
	t.Helper()
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 7},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: typ, Class: dnsmessage.ClassINET}},
	}
	b, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// told is an answer in words.
func told(t *testing.T, reply []byte) (words []string) {
	t.Helper()
	var m dnsmessage.Message
	if err := m.Unpack(reply); err != nil || m.ID != 7 || !m.Response {
		t.Fatalf("%v: %v", m, err)
	}
	if m.RCode != dnsmessage.RCodeSuccess {
		words = append(words, m.RCode.String())
	}
	if m.Truncated {
		words = append(words, "truncated")
	}
	for _, a := range m.Answers {
		switch body := a.Body.(type) {
		case *dnsmessage.AResource:
			words = append(words, net.IP(body.A[:]).String())
		case *dnsmessage.AAAAResource:
			words = append(words, net.IP(body.AAAA[:]).String())
		}
	}
	return words
}

func endpoints(name, service string, ready bool, addresses ...any) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"namespace": "shop", "name": name, "labels": map[string]any{
			"kubernetes.io/service-name": service, "service.kubernetes.io/headless": "",
		}},
		"endpoints": []any{map[string]any{"addresses": addresses, "conditions": map[string]any{"ready": ready}}},
	}
}

func TestAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, listener := apitest.StartInMemory(t, apitest.Options{})
		create := func(slice map[string]any) {
			t.Helper()
			if _, err := server.Create("endpointslices.discovery.k8s.io", slice); err != nil {
				t.Fatal(err)
			}
		}
		create(endpoints("web-1", "web", true, "10.0.0.2", "10.0.0.1"))
		create(endpoints("web-2", "web", true, "fd00::1", "10.0.0.1"))
		create(endpoints("web-3", "web", false, "10.0.0.9"))
		var many []any
		for i := range 100 {
			many = append(many, fmt.Sprintf("10.1.0.%d", i))
		}
		create(endpoints("many", "many", true, many...))
		client, err := transport.NewClient(transport.Config{Server: listener.URL, Dial: listener.Dial})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		cache, err := open(client)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- cache.Run(ctx) }()
		defer func() {
			stop()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}()
		want := func(name string, typ dnsmessage.Type, words ...string) {
			t.Helper()
			synctest.Wait()
			if got := told(t, answer(cache.Store(), ask(t, name, typ))); !slices.Equal(got, words) {
				t.Errorf("%s %v: %q, want %q", name, typ, got, words)
			}
		}
		want("web.shop.svc.cluster.local.", dnsmessage.TypeA, "10.0.0.1", "10.0.0.2")
		want("Web.Shop.svc.cluster.local.", dnsmessage.TypeAAAA, "fd00::1")
		want("web.shop.svc.cluster.local.", dnsmessage.TypeMX)
		want("many.shop.svc.cluster.local.", dnsmessage.TypeA, "truncated")
		want("db.shop.svc.cluster.local.", dnsmessage.TypeA, "RCodeNameError")
		create(endpoints("db", "db", true, "10.0.0.7"))
		want("db.shop.svc.cluster.local.", dnsmessage.TypeA, "10.0.0.7")
		if _, err := server.Delete("endpointslices.discovery.k8s.io", "shop", "db"); err != nil {
			t.Fatal(err)
		}
		want("db.shop.svc.cluster.local.", dnsmessage.TypeA, "RCodeNameError")
	})
}

func FuzzAnswer(f *testing.F) {
	cache := informer.Reader[*Slice](store.New(store.Options[*Slice]{}))
	f.Add([]byte{})
	f.Add([]byte{0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 'a', 0, 0, 1, 0, 1})
	f.Fuzz(func(t *testing.T, query []byte) {
		if reply := answer(cache, query); reply != nil {
			told := new(dnsmessage.Message)
			if err := told.Unpack(reply); err != nil {
				t.Errorf("%x: %v", reply, err)
			}
		}
	})
}

// A client asks over UDP.
func TestServe(t *testing.T) {
	conn, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serve(conn, store.New(store.Options[*Slice]{})) }()
	client, err := new(net.Dialer).DialContext(t.Context(), "udp", conn.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Write([]byte("nonsense")); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Write(ask(t, "a.b.svc.cluster.local.", dnsmessage.TypeA)); err != nil {
		t.Fatal(err)
	}
	reply := make([]byte, 512)
	n, err := client.Read(reply)
	if err != nil {
		t.Fatal(err)
	}
	if got := told(t, reply[:n]); !slices.Equal(got, []string{"RCodeNameError"}) {
		t.Errorf("%q", got)
	}
	_ = conn.Close()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("serve: %v", err)
	}
}

// The program ends when it is told to, and when it cannot listen.
func TestRun(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	_, url := apitest.Start(t, apitest.Options{Log: func(r apitest.LoggedRequest) {
		if r.Began { // the watch after the first list
			stop()
		}
	}})
	if err := run(ctx, transport.Config{Server: url}, "127.0.0.1:0"); !errors.Is(err, context.Canceled) {
		t.Errorf("run: %v", err)
	}
	var wrong *net.AddrError
	if err := run(t.Context(), transport.Config{Server: url}, "127.0.0.1"); !errors.As(err, &wrong) {
		t.Errorf("run without a port: %v", err)
	}
}
