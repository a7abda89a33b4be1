package apitest

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/relist-go/relist/internal/must"
)

func TestLargeListsAreCompressedForThoseWhoAccept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.create("small/a")
		for i := range 40 {
			must.Get[string](t)(f.Create("configmaps", configMap("large", fmt.Sprint("c", i), "v", strings.Repeat("x", 10_000))))
		}
		for _, tt := range []struct {
			namespace, accept string
			zipped            bool
		}{
			{"small", "gzip", false}, {"large", "gzip", true}, {"large", "br;q=1, gzip;q=0.5", true}, {"large", "identity", false},
		} {
			a := f.get("/api/v1/namespaces/"+tt.namespace+"/configmaps", "Accept-Encoding: "+tt.accept)
			body := a.body
			if zipped := a.header.Get("Content-Encoding") == "gzip"; zipped != tt.zipped {
				t.Errorf("%s for %s: Content-Encoding %q", tt.namespace, tt.accept, a.header.Get("Content-Encoding"))
			} else if zipped {
				r := must.Get[*gzip.Reader](t)(gzip.NewReader(strings.NewReader(body)))
				body = string(must.Get[[]byte](t)(io.ReadAll(r)))
			}
			var l listing
			if err := json.Unmarshal([]byte(body), &l); err != nil || len(l.Items) == 0 {
				t.Errorf("%s for %s: %d items, %v", tt.namespace, tt.accept, len(l.Items), err)
			}
		}
	})
}

// Only a watch with initial events is compressed, and each event can be read as soon as it has
// come.
func TestInitialEventsAreCompressedForThoseWhoAccept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.create("d/a")
		const plain = "http://192.0.2.2:16443" + configMaps + "&resourceVersion=1"
		const initial = "http://192.0.2.2:16443" + configMaps + "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
		for _, tt := range []struct {
			url, accept string
			zipped      bool
		}{{plain, "gzip", false}, {initial, "identity", false}, {initial, "gzip", true}} {
			resp := open(t, f.client, http.MethodGet, tt.url, "", "Accept-Encoding: "+tt.accept)
			if zipped := resp.Header.Get("Content-Encoding") == "gzip"; zipped != tt.zipped {
				t.Errorf("%s for %s: Content-Encoding %q", tt.url, tt.accept, resp.Header.Get("Content-Encoding"))
			} else if zipped {
				events := json.NewDecoder(must.Get[*gzip.Reader](t)(gzip.NewReader(resp.Body)))
				for _, name := range []string{"a", "b", "c"} {
					var event struct {
						Object struct{ Metadata struct{ Name string } }
					}
					if err := events.Decode(&event); err != nil || event.Object.Metadata.Name != name {
						t.Errorf("event of %q, %v, want %s", event.Object.Metadata.Name, err, name)
					}
					f.create("d/" + string(name[0]+1))
				}
			}
			_ = resp.Body.Close()
		}
	})
}

// wrapped is a ResponseWriter that cannot be compared.
type wrapped struct {
	http.ResponseWriter
	_ func()
}

func TestLargeListToAnyResponseWriter(t *testing.T) {
	s := New(Options{})
	for i := range 20 {
		must.Get[string](t)(s.Create("configmaps", configMap("d", fmt.Sprint("c", i), "v", strings.Repeat("x", 10_000))))
	}
	w := &discard{header: make(http.Header)}
	s.ServeHTTP(wrapped{ResponseWriter: w}, must.Get[*http.Request](t)(http.NewRequestWithContext(t.Context(), http.MethodGet, inD, nil)))
	if w.n < 200_000 {
		t.Errorf("%d bytes were sent", w.n)
	}
}

// What a list allocates does not grow with its objects' size: 16 MB are sent here.
func TestListIsNotHeldWhole(t *testing.T) {
	s := New(Options{})
	for i := range 2000 {
		must.Get[string](t)(s.Create("configmaps", configMap("d", fmt.Sprint("c", i), "v", strings.Repeat("x", 8000))))
	}
	w := &discard{header: make(http.Header)}
	req := must.Get[*http.Request](t)(http.NewRequestWithContext(t.Context(), http.MethodGet, inD+"?resourceVersion=0", nil))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s.ServeHTTP(w, req)
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; w.n < 16_000_000 || allocated > 2_000_000 {
		t.Errorf("%d bytes were allocated to send %d", allocated, w.n)
	}
}

// discard is a client that is always ready.
type discard struct {
	header http.Header
	n      int64
}

func (d *discard) Header() http.Header { return d.header }
func (d *discard) WriteHeader(int)     {}
func (d *discard) Flush()              {}
func (d *discard) Write(b []byte) (int, error) {
	d.n += int64(len(b))
	return len(b), nil
}
