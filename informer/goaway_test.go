package informer_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"
)

// A server that wants its load spread says GOAWAY again and again, over HTTP/2 and, by
// closing, over HTTP/1.1. Nothing is listed a second time, nothing comes twice or not at
// all, and nobody is told of a problem. https://github.com/kubernetes/kubernetes/pull/88567
func TestGoAwayLosesNothing(t *testing.T) {
	for _, protocol := range []transport.Protocol{transport.ProtocolHTTP1, transport.ProtocolHTTP2} {
		t.Run(protocol.String(), func(t *testing.T) { goAway(t, protocol) })
	}
}

func goAway(t *testing.T, protocol transport.Protocol) {
	server := apitest.New(apitest.Options{})
	defer server.Close()
	listener, err := server.Listen("127.0.0.1:0")
	must.OK(t, err)
	client, err := transport.NewClient(transport.Config{Server: listener.URL, Protocol: protocol})
	must.OK(t, err)
	defer client.Close()
	pods, err := listwatch.New(client, podResource, listwatch.Options[*Pod]{})
	must.OK(t, err)
	var lists atomic.Int64
	in := informer.New(pods, informer.Options[*Pod]{Logger: silent, Reflector: reflector.Options{
		BackoffBase: time.Millisecond, // streams that live as short as these follow the schedule
		BackoffCap:  10 * time.Millisecond,
		Trace: &reflector.Trace{
			ListStart: func(reflector.ListStart) { lists.Add(1) },
			Problem:   func(p reflector.Problem) { t.Errorf("problem: %v", p.Err) },
		},
	}})
	told := make(chan string, 100)
	if _, err := in.AddHandler(informer.Handler[*Pod]{
		OnAdd:    func(pod *Pod, _ bool) { told <- pod.Name },
		OnUpdate: func(_, pod *Pod) { told <- "update of " + pod.Name },
		OnDelete: func(pod *Pod, _ bool) { told <- "deletion of " + pod.Name },
	}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- in.Run(t.Context()) }()
	<-in.Synced()
	for i := range 20 {
		server.GoAway(2)
		if i%2 == 0 {
			server.EndWatches() // so that the watch moves
		}
		name := fmt.Sprint("pod-", i)
		if _, err := server.Create("pods", map[string]any{"metadata": map[string]any{"namespace": "default", "name": name}}); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-told:
			if got != name {
				t.Fatalf("the handler was told of %s, want the creation of %s", got, name)
			}
		case <-time.After(time.Minute):
			t.Fatalf("the handler was not told of %s", name)
		}
	}
	if n := lists.Load(); n != 1 {
		t.Errorf("%d lists, want 1", n)
	}
}
