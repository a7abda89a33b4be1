package apitest

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/must"
)

func TestCutAtEveryByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.create("d/a")
		f.create("d/b")
		whole := f.get(configMaps + "&resourceVersion=2&timeoutSeconds=1").body
		for n := range len(whole) {
			f.Cut(Cut{After: int64(n), Next: 1})
			a := f.get(configMaps + "&resourceVersion=2")
			if a.body != whole[:n] || !errors.Is(a.err, io.ErrUnexpectedEOF) {
				t.Fatalf("cut at %d: %q, %v", n, a.body, a.err)
			}
		}
		f.Cut(Cut{After: 7, Next: 1, Clean: true})
		if a := f.get(configMaps + "&resourceVersion=2"); a.body != whole[:7] || a.err != nil {
			t.Errorf("clean cut at 7: %q, %v", a.body, a.err)
		}
	})
}

func TestCutOpenWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.create("d/a")
		w := f.watch(configMaps + "&resourceVersion=2")
		idle := f.watch("/api/v1/secrets?watch=1&resourceVersion=2")
		if n := f.CutWatches(10); n != 2 {
			t.Errorf("%d watches, want 2", n)
		}
		f.touch("d/a")
		if rest, err := io.ReadAll(w.r); string(rest) != `{"type":"M` || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q, %v", rest, err)
		}
		f.CutWatches(0)
		idle.wantEnd(io.ErrUnexpectedEOF)
	})
}

func TestEndWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.create("d/a")
		w := f.watch(configMaps + "&resourceVersion=2")
		f.EndWatches()
		w.wantEnd(io.EOF)
	})
}

// A fault that is limited to one type leaves the watches and lists of others alone.
func TestFaultsOfOneType(t *testing.T) {
	const secrets, path = "/api/v1/secrets?watch=1&resourceVersion=1", faultsPath
	for fault, want := range map[string]error{ // each in its own bubble
		"end?resource=configmaps": io.EOF, "cut?resource=configmaps": io.ErrUnexpectedEOF, "cut?resource=configmaps&next=1": io.ErrUnexpectedEOF,
		"cut?resource=configmaps&lists=true": io.ErrUnexpectedEOF, "compact?resource=configmaps": nil,
	} {
		t.Run(fault, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := serve(t, Options{})
				f.create("d/a", "d/b")
				other, one := f.watch(secrets), f.watch(configMaps+"&resourceVersion=3")
				if a := f.do(http.MethodPost, path+fault, ""); a.code != http.StatusOK || strings.HasPrefix(a.body, "0") {
					t.Fatalf("%d %s", a.code, a.body)
				}
				later, list := f.watch(secrets), f.get("/api/v1/secrets")
				must.Get[string](t)(f.Create("secrets", configMap("d", "s")))
				other.want("ADDED s@4")
				later.want("ADDED s@4")
				if list.err != nil {
					t.Errorf("a list of another type: %v", list.err)
				}
				switch {
				case strings.HasSuffix(fault, "next=1"):
					one = f.watch(configMaps + "&resourceVersion=3")
				case strings.HasSuffix(fault, "lists=true"):
					if a := f.get("/api/v1/configmaps"); !errors.Is(a.err, want) {
						t.Errorf("the list ends with %v", a.err)
					}
					return
				case want == nil: // the window is empty, and what is open goes on
					f.watch(configMaps + "&resourceVersion=2").want("ERROR Expired")
					if l := f.list("/api/v1/configmaps?resourceVersion=2&resourceVersionMatch=Exact"); describe(l) != "2: d/a" {
						t.Errorf("the state at 2 is %s; etcd was not compacted", describe(l))
					}
					f.touch("d/a")
					one.want("MODIFIED a@5")
					return
				}
				one.wantEnd(want)
			})
		})
	}
}

// What ends is the watch whose client does not read, and it ends after the bytes that were on their
// way.
func TestEndSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		const large = 100_000 // more than the buffers on the way
		must.Get[string](t)(f.Create("configmaps", configMap("d", "a", "v", strings.Repeat("x", large))))
		slow, quick := f.watch(configMaps+"&resourceVersion=2"), f.watch(configMaps+"&resourceVersion=2")
		synctest.Wait()
		if n := must.Get[int](t)(f.End(End{Slow: true})); n != 0 {
			t.Errorf("%d watches are slow before the first event", n)
		}
		rest := make(chan []byte)
		go func() {
			b, _ := io.ReadAll(quick.r)
			rest <- b
		}()
		for range 3 {
			f.touch("d/a")
			synctest.Wait() // the slow watch is in the middle of the first event
		}
		if n := must.Get[int](t)(f.End(End{Slow: true, Resource: "configmaps"})); n != 1 {
			t.Errorf("%d watches are slow, want 1", n)
		}
		slow.want("MODIFIED a@3")
		slow.wantEnd(io.EOF)
		f.touch("d/a")
		synctest.Wait()
		f.EndWatches()
		if n := bytes.Count(<-rest, []byte("MODIFIED")); n != 4 {
			t.Errorf("the other watch got %d changes of 4", n)
		}
	})
}

func TestInject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.create("d/a")
		w := f.watch(configMaps + "&resourceVersion=2")
		f.Inject([]byte(`{"type":"STRANGE","object":{}}` + "\n"))
		f.touch("d/a")
		w.want("STRANGE @", "MODIFIED a@3")
	})
}

// Before the next byte is as early as a cut can be.
func TestCutBelowZeroIsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.create("d/a")
		w := f.watch(configMaps + "&resourceVersion=2")
		f.Cut(Cut{After: -1, Clean: true})
		w.wantEnd(io.EOF)
		f.Cut(Cut{After: -1, Next: 1, Clean: true})
		f.watch(configMaps + "&resourceVersion=1").wantEnd(io.EOF)
	})
}

func TestStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.create("d/a")
		w := f.watch(configMaps + "&resourceVersion=2&timeoutSeconds=60")
		f.Stall()
		began := time.Now()
		go func() {
			f.touch("d/a")
			pass(time.Hour) // long past the timeout: a dead connection does not end
			if err := f.Resume(); err != nil {
				t.Error(err)
			}
		}()
		w.want("MODIFIED a@3")
		if waited := time.Since(began); waited != time.Hour {
			t.Errorf("the event came after %v", waited)
		}
		w.wantEnd(io.EOF) // its time was over long ago

		w = f.watch(configMaps + "&resourceVersion=3")
		f.Stall()
		f.touch("d/a")
		synctest.Wait()
		f.CutWatches(0) // reaches a stalled watch
		w.wantEnd(io.ErrUnexpectedEOF)

		if err := f.Resume(); err != nil {
			t.Error(err)
		}
		w = f.watch(configMaps + "&resourceVersion=4")
		synctest.Wait()
		f.Stall()
		f.EndWatches() // reaches a watch that has nothing to send, too
		w.wantEnd(io.EOF)
	})
}

func TestFailNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.create("d/a")
		f.failNext(Failure{Count: 2, Verb: "list", Status: 429, RetryAfter: 3 * time.Second})
		f.failNext(Failure{Verb: "watch", Status: 410, Reason: metav1.StatusReasonGone, Message: "gone", InStream: true})
		f.failNext(Failure{Resource: "secrets", Status: 502, Raw: []byte("<html>"), ContentType: "text/html"})
		for range 2 {
			a := f.get("/api/v1/configmaps")
			if a.code != 429 || a.header.Get("Retry-After") != "3" || !strings.Contains(a.body, `"retryAfterSeconds":3`) || !strings.Contains(a.body, "TooManyRequests") {
				t.Errorf("%d %v %s", a.code, a.header, a.body)
			}
		}
		if a := f.get("/api/v1/configmaps"); a.code != http.StatusOK {
			t.Errorf("the third list: %d", a.code)
		}
		f.watch(configMaps).want("ERROR Gone")
		f.watch(configMaps).want("ADDED a@2")
		if a := f.get("/api/v1/secrets"); a.code != 502 || a.body != "<html>" || a.header.Get("Content-Type") != "text/html" {
			t.Errorf("%d %s", a.code, a.body)
		}
		f.failNext(Failure{})
		if l := f.list("/api/v1/secrets"); l.Code != http.StatusInternalServerError {
			t.Errorf("the default failure is %s", describe(l))
		}
	})
}

// A failure that no request can meet would leave a test waiting for it, or passing without it.
func TestFailNextRefusesWhatCannotBe(t *testing.T) {
	s := New(Options{})
	t.Cleanup(func() { _ = s.Close() })
	for want, x := range map[string]Failure{
		`verb "wach": want one of list, watch, get`: {Verb: "wach"},
		`resource "svcs": the server has none`:      {Resource: "svcs"},
		`resource "deployments": the server`:        {Resource: "deployments"},
		`count -1: want 1 or more`:                  {Count: -1},
		`status 50: want an HTTP status`:            {Status: 50},
		`status 1000: want an HTTP status`:          {Status: 1000},
		`retry after -1s: want 0 or more`:           {RetryAfter: -time.Second},
	} {
		if err := s.FailNext(x); err == nil || !strings.HasPrefix(err.Error(), "fail the next requests: "+want) {
			t.Errorf("FailNext(%+v) = %v, want %q", x, err, want)
		}
	}
	if err := s.FailNext(Failure{Verb: "deletecollection", Resource: "deployments.apps", Status: 599}); err != nil {
		t.Error(err)
	}
}

// A failure in the stream comes as the stream would: in its encoding, and as its messages.
func TestFailNextInStreamIsEncoded(t *testing.T) {
	for accept, status := range map[string]func([]byte) []byte{
		"application/json": func(b []byte) []byte {
			return bytes.TrimPrefix(b, []byte(`{"type":"ERROR","object":`))
		},
		protobufMediaType: func(b []byte) []byte {
			var event metav1.WatchEvent
			must.Get[any](t)(nil, event.Unmarshal(b))
			return event.Object.Raw
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := serve(t, Options{})
			f.failNext(Failure{Count: 2, Verb: "watch", Status: 410, Reason: metav1.StatusReasonGone, Message: "gone", InStream: true})
			want := Failure{Status: 410, Reason: metav1.StatusReasonGone, Message: "gone"}.status(target{}, "watch")
			encoded := map[string][]byte{"application/json": mustJSON(want), protobufMediaType: protobufStatus(want)}[accept]

			a := f.get(configMaps, "Accept: "+accept)
			body := []byte(a.body)
			if accept == protobufMediaType && len(body) > lengthBytes {
				body = body[lengthBytes:]
			}
			_, message, err := f.socket(configMaps, "Accept", accept).ws.ReadMessage()
			must.OK(t, err)
			for how, got := range map[string][]byte{"a body": body, "a message": message} {
				if !bytes.HasPrefix(status(got), encoded) {
					t.Errorf("%s in %s: %q", accept, how, got)
				}
			}
			f.failNext(Failure{Verb: "watch", InStream: true})
			wantType := map[string]string{protobufMediaType: protobufMediaType + ";stream=watch"}
			if a, want := f.get(configMaps, "Accept: "+accept), cmp.Or(wantType[accept], accept); a.header.Get("Content-Type") != want {
				t.Errorf("Content-Type %s, want %s", a.header.Get("Content-Type"), want)
			}
		})
	}
}

func TestGoAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.GoAway(1)
		resp := open(t, f.client, http.MethodGet, "http://server/api/v1/configmaps", "")
		if !resp.Close {
			t.Error("the answer keeps the connection")
		}
		_ = resp.Body.Close()
		resp = open(t, f.client, http.MethodGet, "http://server/api/v1/configmaps", "")
		if resp.Close {
			t.Error("the next answer gives up the connection too")
		}
		_ = resp.Body.Close()
	})
}

func TestSwallow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.create("d/a")
		f.SwallowInitialEventsEnd(true)
		const initial = configMaps + "&allowWatchBookmarks=1&timeoutSeconds=100&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
		w := f.watch(initial)
		w.want("ADDED a@2")
		f.touch("d/a")
		w.want("MODIFIED a@3", "BOOKMARK@3")
		f.SwallowBookmarks(true)
		f.touch("d/a")
		w.want("MODIFIED a@4")
		w.wantEnd(io.EOF)
		f.SwallowInitialEventsEnd(false)
		f.watch(initial).want("ADDED a@4", "BOOKMARK@4 end")
	})
}
