package listwatch_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/internal/framestest"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
	"github.com/relist-go/relist/transport/frames"
)

// lines is a format that a program might define. An object is a line of
// name;uid;version;note. An event has its type before the object. A list begins with its
// version.
type lines struct{}

var _ listwatch.Encoding = lines{}

func (lines) MediaType() string        { return "text/x-lines" }
func (lines) StreamMediaType() string  { return "text/x-lines" }
func (lines) Text() bool               { return true }
func (lines) NewFramer() frames.Framer { return lineFramer{} }
func (lines) Valid(object []byte) bool { return bytes.Count(object, []byte(";")) == 3 }
func (lines) Kind([]byte, bool) []byte { return nil }
func (lines) part(line []byte, i int) []byte {
	parts := bytes.Split(line, []byte(";"))
	if i >= len(parts) {
		return nil
	}
	return parts[i]
}

func (l lines) Identify(object []byte) format.Identity {
	return format.Identity{Name: l.part(object, 0), UID: l.part(object, 1), ResourceVersion: l.part(object, 2)}
}

func (l lines) Bookmark(object []byte) (string, bool, error) {
	return string(l.part(object, 2)), false, nil
}
func (lines) Status([]byte) (s metav1.Status, ok bool) { return s, false }

func (lines) SplitEvent(event []byte, _ bool) (word string, object []byte, err error) {
	before, object, ok := bytes.Cut(bytes.TrimSuffix(event, []byte("\n")), []byte(" "))
	if !ok {
		err = errors.New("no space")
	}
	return string(before), object, err
}

func (lines) ReadList(body io.Reader, list *format.List) error {
	scan := bufio.NewScanner(body)
	if !scan.Scan() {
		return io.ErrUnexpectedEOF
	}
	list.Kind, list.ResourceVersion = "NoteList", scan.Text()
	if err := list.BeginItems(); err != nil {
		return err
	}
	for scan.Scan() {
		if err := list.Item(scan.Bytes()); err != nil {
			return err
		}
	}
	return scan.Err()
}

func (l lines) Unmarshaler(typ reflect.Type, opts format.Options) (func(object []byte, into any) error, error) {
	if typ != reflect.TypeFor[*note]() {
		return nil, fmt.Errorf("%v is no note", typ)
	}
	dropsText := false
	for _, path := range opts.Drop {
		dropsText = dropsText || strings.Join(path, ".") == "text"
	}
	return func(object []byte, into any) error {
		id := l.Identify(object)
		n := &note{ObjectMeta: metav1.ObjectMeta{Name: string(id.Name), UID: types.UID(id.UID), ResourceVersion: string(id.ResourceVersion)}}
		if !dropsText {
			n.Text = string(l.part(object, 3))
		}
		*into.(**note) = n
		return nil
	}, nil
}

type note struct {
	metav1.ObjectMeta `json:"metadata"`
	Text              string `json:"text"`
}

type lineFramer struct{}

func (lineFramer) Begin(b []byte) (int, bool, error) { return 0, len(b) > 0, nil }

func (lineFramer) Scan(b []byte) (n, more int, err error) {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return i + 1, 0, nil
	}
	return len(b), 1, nil
}

// A format that uses only exported names can do what the formats of this module do: its
// frames are found, known objects are not decoded again, and Drop is obeyed.
func TestFormatOfAProgramsOwn(t *testing.T) {
	const stream = "MODIFIED a;u;6;three\nBOOKMARK ;;7;\n"
	if got := framestest.Test(t, lines{}.NewFramer, []byte(stream), 0); len(got.Frames) != 2 || got.End != "EOF" {
		t.Errorf("frames %+v", got)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/x-lines")
		if r.URL.Query().Get("watch") != "" {
			_, _ = io.WriteString(w, stream)
			return
		}
		_, _ = io.WriteString(w, "5\na;u;3;one\nb;w;4;two\n")
	}))
	t.Cleanup(server.Close)
	client, err := transport.NewClient(transport.Config{Server: server.URL})
	must.OK(t, err)
	t.Cleanup(client.Close)
	for _, drop := range [][]string{nil, {"text"}} {
		r, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "notes"}, listwatch.Options[*note]{Encoding: lines{}, Drop: drop})
		must.OK(t, err)
		checkNotes(t.Context(), t, r, drop == nil)
	}
}

func checkNotes(ctx context.Context, t *testing.T, r *listwatch.Client[*note], text bool) {
	t.Helper()
	held := &note{Text: "held"}
	known := func(key string) (*note, object.Meta, bool) {
		return held, object.Meta{Key: "a", UID: "u", ResourceVersion: "3"}, key == "a"
	}
	var items []*note
	list, err := source.EachKnown(ctx, r, metav1.ListOptions{}, known, func(p source.Part[*note]) error {
		items = append(items, p.Items...)
		return nil
	})
	if err != nil || len(items) != 2 || items[0] != held || (items[1].Text == "two") != text || list.ResourceVersion != "5" {
		t.Errorf("list %+v of %v, %v", list, items, err)
	}
	watch, err := r.Watch(ctx, metav1.ListOptions{})
	must.OK(t, err)
	defer watch.Close()
	if e, err := watch.Next(); err != nil || e.Type != object.Modified || e.Meta.ResourceVersion != "6" || (e.Object.Text == "three") != text {
		t.Errorf("event %+v, %v", e, err)
	}
	if e, err := watch.Next(); err != nil || e.Type != object.Bookmark || e.Meta.ResourceVersion != "7" {
		t.Errorf("bookmark %+v, %v", e, err)
	}
	if _, err := watch.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("end %v", err)
	}
}
