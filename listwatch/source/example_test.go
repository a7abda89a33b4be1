package source_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
)

// configMap is what the program reads of a ConfigMap.
type configMap struct {
	metav1.ObjectMeta `json:"metadata"`

	Data map[string]string `json:"data"`
}

// web lists and watches ConfigMaps by net/http and encoding/json.
type web struct {
	http *http.Client
	url  string
}

// get sends a request. The caller closes the body.
func (w *web) get(ctx context.Context, opts metav1.ListOptions) (io.ReadCloser, error) {
	query, err := metav1.ParameterCodec.EncodeParameters(&opts, metav1.Unversioned)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/api/v1/configmaps?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := w.http.Do(req) //nolint:bodyclose // what is returned closes it
	if err != nil {
		return nil, err
	}
	body := &heard{resp.Body, source.ReadHook(ctx)}
	if resp.StatusCode != http.StatusOK {
		defer body.Close()
		return nil, refusal(json.NewDecoder(body))
	}
	return body, nil
}

// heard tells the reflector that bytes arrive, so that it gives up no answer that is merely long.
type heard struct {
	io.ReadCloser
	hook func(n int)
}

func (h *heard) Read(b []byte) (int, error) {
	n, err := h.ReadCloser.Read(b)
	if n > 0 && h.hook != nil {
		h.hook(n)
	}
	return n, err
}

// refusal reads a Status.
func refusal(from *json.Decoder) error {
	var refused apierrors.StatusError
	if err := from.Decode(&refused.ErrStatus); err != nil {
		return err
	}
	return &refused
}

// list returns one page. An object that cannot be decoded stands in Errors, and the others are
// used.
func (w *web) list(ctx context.Context, opts metav1.ListOptions) (*source.Page[*configMap], error) {
	body, err := w.get(ctx, opts)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var answer struct {
		Metadata metav1.ListMeta   `json:"metadata"`
		Items    []json.RawMessage `json:"items"`
	}
	if err := json.NewDecoder(body).Decode(&answer); err != nil {
		return nil, err
	}
	page := &source.Page[*configMap]{ResourceVersion: answer.Metadata.ResourceVersion, Continue: answer.Metadata.Continue}
	for _, item := range answer.Items {
		obj, bad := decode(item)
		if bad != nil {
			page.Errors = append(page.Errors, bad)
			continue
		}
		page.Items = append(page.Items, obj)
	}
	return page, nil
}

func decode(item []byte) (*configMap, *source.ObjectError) {
	obj := new(configMap)
	if err := json.Unmarshal(item, obj); err != nil {
		var known struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
		}
		_ = json.Unmarshal(item, &known) // what can be read of it is enough
		return nil, &source.ObjectError{Meta: metaOf(&known.Metadata), Err: err}
	}
	return obj, nil
}

func metaOf(m *metav1.ObjectMeta) object.Meta {
	return object.Meta{Key: object.Key(m), UID: m.UID, ResourceVersion: m.ResourceVersion}
}

// watch opens a stream of events.
func (w *web) watch(ctx context.Context, opts metav1.ListOptions) (source.Watch[*configMap], error) {
	opts.Watch = true
	body, err := w.get(ctx, opts)
	if err != nil {
		return nil, err
	}
	return &events{body: body, lines: json.NewDecoder(body)}, nil
}

type events struct {
	body  io.ReadCloser
	lines *json.Decoder
	err   error // the end
}

func (e *events) Next() (event source.Event[*configMap], err error) {
	if e.err == nil {
		event, e.err = e.next()
	}
	return event, e.err
}

func (e *events) Close() error { return e.body.Close() }

var types = map[string]object.EventType{
	"ADDED": object.Added, "MODIFIED": object.Modified, "DELETED": object.Deleted, "BOOKMARK": object.Bookmark,
}

func (e *events) next() (event source.Event[*configMap], err error) {
	var line struct {
		Type   string          `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	if err := e.lines.Decode(&line); err != nil {
		return event, err // io.EOF if the server has ended the watch cleanly
	}
	event.Type = types[line.Type]
	switch {
	case line.Type == "ERROR":
		var refused apierrors.StatusError
		return event, errors.Join(json.Unmarshal(line.Object, &refused.ErrStatus), &refused)
	case event.Type == 0:
		return event, fmt.Errorf("an event of type %q", line.Type)
	}
	obj, bad := decode(line.Object)
	switch {
	case bad != nil:
		event.Meta, event.Err = bad.Meta, bad
	case event.Type == object.Bookmark:
		event.Meta = object.Meta{ResourceVersion: obj.ResourceVersion}
		event.InitialEventsEnd = obj.Annotations[metav1.InitialEventsAnnotationKey] == "true"
	default:
		event.Meta, event.Object = metaOf(&obj.ObjectMeta), obj
	}
	return event, nil
}

// A ListWatcher with an HTTP stack of its own.
func ExampleListWatcher() {
	_ = func(ctx context.Context, client *http.Client) error {
		server := &web{http: client, url: "http://127.0.0.1:8001"} // kubectl proxy
		configMaps := source.Funcs[*configMap]{Name: "configmaps", ListFunc: server.list, WatchFunc: server.watch}
		cache := informer.New(configMaps, informer.Options[*configMap]{})
		return cache.Run(ctx)
	}
}

// The ListWatcher of the example works: over pages, events, an object that cannot be decoded, and a
// version that has expired.
func TestListWatcherOfTheExample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, listener := apitest.StartInMemory(t, apitest.Options{})
		write := func(name string, data any) {
			t.Helper()
			obj := map[string]any{"metadata": map[string]any{"namespace": "shop", "name": name}, "data": map[string]any{"n": data}}
			_, err := api.Update("configmaps", obj)
			if apierrors.IsNotFound(err) {
				_, err = api.Create("configmaps", obj)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		client := &http.Client{Transport: &http.Transport{DialContext: listener.Dial}}
		server := &web{http: client, url: listener.URL}
		configMaps := source.Funcs[*configMap]{Name: "configmaps", ListFunc: server.list, WatchFunc: server.watch}
		cache := informer.New(configMaps, informer.Options[*configMap]{Logger: slog.New(slog.DiscardHandler)})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- cache.Run(ctx) }()
		defer func() {
			stop()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			client.CloseIdleConnections()
		}()
		write("a", "1")
		write("b", "1")
		caughtUp := func() {
			t.Helper()
			if err := cache.WaitForVersion(ctx, api.ResourceVersion()); err != nil {
				t.Fatal(err)
			}
		}
		caughtUp()
		write("a", "2")
		write("b", 5) // no string
		caughtUp()
		if a, _ := cache.Store().Get("shop/a"); a == nil || a.Data["n"] != "2" {
			t.Errorf("a is %+v", a)
		}
		if bad := cache.Status().Quarantined; len(bad) != 1 {
			t.Errorf("in quarantine: %v, want b", bad)
		}
		if err := api.Refuse(0); err != nil {
			t.Fatal(err)
		}
		write("b", "3")
		api.Compact()
		if err := api.Resume(); err != nil {
			t.Fatal(err)
		}
		caughtUp()
		if b, _ := cache.Store().Get("shop/b"); b == nil || b.Data["n"] != "3" {
			t.Errorf("b is %+v", b)
		}
	})
}
