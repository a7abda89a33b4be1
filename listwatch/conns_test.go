package listwatch

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/memnet"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/transport"
)

// serveInMemory starts a server and returns a client for it, in a bubble: net/http gives a
// connection up if one of its goroutines is late by 50 ms.
func serveInMemory(t *testing.T, config transport.Config, handler http.HandlerFunc) *transport.Client {
	t.Helper()
	network := memnet.New()
	server := &http.Server{Handler: handler}
	go func() { _ = server.Serve(network) }() // always net.ErrClosed, or http.ErrServerClosed
	config.Server, config.Dial = "http://api.example", network.Dial
	client, err := transport.NewClient(config)
	must.OK(t, err)
	t.Cleanup(func() {
		client.Close()
		_ = server.Close()
	})
	return client
}

// A list has three pages. After some of them the server closes the connection, as if it was started
// again then.
func TestConnectionsOfAList(t *testing.T) {
	tests := map[string]struct {
		closes     string // after which pages
		compressed bool
		want       string // which parts came over a new connection
		gone       bool
	}{
		"one connection":                   {"", false, "false false false", false},
		"one connection, with compression": {"", true, "false false false", false},
		"a new one after the first page":   {"1", false, "false true true", true},
		"a new one after the second page":  {"2", false, "false false true", true},
		"a new one for each page":          {"1 2 3", false, "false true true", true},
		"a new one after the list":         {"3", false, "false false false", true},
	}
	for name, test := range tests {
		inBubble := func(t *testing.T) {
			config := transport.Config{}
			if test.compressed {
				config.Gzip = new(true)
			}
			client := serveInMemory(t, config, func(w http.ResponseWriter, req *http.Request) {
				synctest.Wait() // the client has closed the connection of the page before, on another goroutine
				page := req.URL.Query().Get("continue")
				if page == "" {
					page = "1"
				}
				objects, next := 300, map[string]string{"1": "2", "2": "3"}[page]
				if page == "2" {
					objects = 100
				}
				if strings.Contains(test.closes, page) {
					w.Header().Set("Connection", "close")
				}
				w.Header().Set("Content-Type", "application/json")
				out := io.Writer(w)
				if test.compressed {
					if req.Header.Get("Accept-Encoding") == "" {
						t.Error("no compression is asked for")
					}
					w.Header().Set("Content-Encoding", "gzip")
					zip := gzip.NewWriter(w)
					defer zip.Close()
					out = zip
				}
				text := listText(objects, fmt.Sprintf(`"metadata":{"resourceVersion":"9","continue":%q},`, next), nil)
				_, _ = io.WriteString(out, strings.ReplaceAll(text, `"name":"o`, `"name":"p`+page+"-"))
			})
			r := mustNew(t, client, Options[*configMap]{})
			var got []string
			list, err := source.Each(t.Context(), r, metav1.ListOptions{Limit: 300}, func(p source.Part[*configMap]) error {
				if p.Remaining == nil && len(p.Items) != 44 { // a page of 300 objects has two parts
					got = append(got, fmt.Sprint(p.Reconnected))
				}
				return nil
			})
			must.OK(t, err)
			synctest.Wait() // the client has closed the connection of the last page
			if parts := strings.Join(got, " "); parts != test.want || list.ConnGone() != test.gone {
				t.Errorf("over a new connection: %s; the first one is gone: %t; want %s and %t", parts, list.ConnGone(), test.want, test.gone)
			}
		}
		t.Run(name, func(t *testing.T) { synctest.Test(t, inBubble) })
	}
}

// A list that begins again because a token has expired is judged by what came since.
func TestConnectionsOfAListThatBeginsAgain(t *testing.T) {
	synctest.Test(t, listThatBeginsAgain)
}

func listThatBeginsAgain(t *testing.T) {
	client := serveInMemory(t, transport.Config{}, func(w http.ResponseWriter, req *http.Request) {
		query := req.URL.Query()
		switch {
		case query.Get("continue") != "":
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusGone)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`)
		case query.Get("limit") != "":
			w.Header().Set("Connection", "close")
			body(listText(3, `"metadata":{"resourceVersion":"9","continue":"p2"},`, nil))(w, req)
		default:
			body(listText(3, `"metadata":{"resourceVersion":"12"},`, nil))(w, req)
		}
	})
	list, err := source.All(t.Context(), mustNew(t, client, Options[*configMap]{}), metav1.ListOptions{Limit: 3})
	if err != nil || list.Pages != 2 || list.ConnGone() {
		t.Errorf("%+v, %v", list, err)
	}
}
