package listwatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch/source"
)

// listText returns the JSON of a list of objects named o0000 and so on. If the map has an item, it
// stands instead of the object.
func listText(objects int, members string, instead map[int]string) string {
	var text strings.Builder
	text.WriteString(`{"kind":"ConfigMapList","apiVersion":"v1",` + members + `"items":[`)
	for i := range objects {
		if i > 0 {
			text.WriteByte(',')
		}
		if item, ok := instead[i]; ok {
			text.WriteString(item)
			continue
		}
		fmt.Fprintf(&text, `{"metadata":{"name":"o%04d","uid":"u%d"}}`, i, i)
	}
	text.WriteString(`]}`)
	return text.String()
}

// gathered is what a caller of Each has been given.
type gathered struct {
	keys  []string
	parts []string // the numbers of items and errors of each, or "again"
}

func (g *gathered) take(p source.Part[*configMap]) error {
	if p.Again {
		g.keys, g.parts = nil, append(g.parts, "again")
		return nil
	}
	g.parts = append(g.parts, fmt.Sprintf("%d+%d", len(p.Items), len(p.Errors)))
	for i, item := range p.Items {
		meta, ok := p.Meta(i)
		if !ok || meta.Key != item.Name || string(meta.UID) != string(item.UID) {
			return fmt.Errorf("item %s has the metadata %+v", item.Name, meta)
		}
		g.keys = append(g.keys, meta.Key)
	}
	for _, bad := range p.Errors {
		g.keys = append(g.keys, "bad "+bad.Meta.Key)
	}
	return nil
}

func TestEachOfOneAnswer(t *testing.T) {
	big := strings.Repeat("x", partBytes/3)
	for name, test := range map[string]struct {
		text  string
		parts string
		last  string
	}{
		"no objects":     {listText(0, `"metadata":{"resourceVersion":"9"},`, nil), "0+0", ""},
		"few":            {listText(3, `"metadata":{"resourceVersion":"9"},`, nil), "3+0", "o0002"},
		"exactly a part": {listText(partObjects, `"metadata":{"resourceVersion":"9"},`, nil), "256+0", "o0255"},
		"two parts":      {listText(partObjects+1, `"metadata":{"resourceVersion":"9"},`, nil), "256+0 1+0", "o0256"},
		"bad items in the middle": {
			listText(600, `"metadata":{"resourceVersion":"9"},`, map[int]string{
				255: `{"metadata":{"name":"o0255"},"data":7}`, 256: `null`, 300: `{"kind":"Secret","metadata":{"name":"o0300"}}`,
			}),
			"255+1 254+2 88+0", "o0599",
		},
		"nothing but bad items": {listText(257, `"metadata":{"resourceVersion":"9"},`, func() map[int]string {
			all := map[int]string{}
			for i := range 257 {
				all[i] = `{}`
			}
			return all
		}()), "0+256 0+1", "bad "},
		"large objects": {
			listText(8, `"metadata":{"resourceVersion":"9"},`, map[int]string{
				0: `{"metadata":{"name":"o0000","uid":"u0"},"data":{"k":"` + big + `"}}`,
				1: `{"metadata":{"name":"o0001"},"data":"` + big + `"}`, // bad
				2: `{"metadata":{"name":"o0002","uid":"u2"},"data":{"k":"` + big + `"}}`,
				3: `{"metadata":{"name":"o0003","uid":"u3"},"data":{"k":"` + big + big + big + `"}}`,
			}),
			"2+1 1+0 4+0", "o0007",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := mustNew(t, serve(t, body(test.text)), Options[*configMap]{})
			var got gathered
			list, err := source.Each(t.Context(), r, metav1.ListOptions{}, got.take)
			must.OK(t, err)
			if list.ResourceVersion != "9" || list.Pages != 1 || list.Items != nil || list.Metas != nil || list.Errors != nil {
				t.Errorf("the list is %+v", list)
			}
			last := ""
			if len(got.keys) > 0 {
				last = got.keys[len(got.keys)-1]
			}
			if parts := strings.Join(got.parts, " "); parts != test.parts || last != test.last {
				t.Errorf("parts %s, the last object is %q; want %s and %q", parts, last, test.parts, test.last)
			}
			whole, err := source.All(t.Context(), r, metav1.ListOptions{})
			if err != nil || len(whole.Items)+len(whole.Errors) != len(got.keys) {
				t.Errorf("All has %d objects and %d errors, %v; Each has %d", len(whole.Items), len(whole.Errors), err, len(got.keys))
			}
		})
	}
}

// Parts of pages, and Remaining as far as the server has sent it by then.
func TestEachOfPages(t *testing.T) {
	var asked []string
	r := mustNew(t, serve(t, func(w http.ResponseWriter, req *http.Request) {
		query := req.URL.Query()
		asked = append(asked, query.Get("continue")+" "+query.Get("resourceVersion"))
		switch query.Get("continue") {
		case "":
			body(listText(300, `"metadata":{"resourceVersion":"9","continue":"p2","remainingItemCount":5},`, nil))(w, req)
		case "p2":
			body(strings.TrimSuffix(listText(2, "", map[int]string{0: `{"metadata":{"name":"p","uid":"u0"}}`, 1: `{"metadata":{"name":"q","uid":"u1"}}`}), "}")+
				`,"metadata":{"resourceVersion":"9","continue":"p3","remainingItemCount":3}}`)(w, req)
		default:
			body(listText(0, `"metadata":{"resourceVersion":"9"},`, nil))(w, req)
		}
	}), Options[*configMap]{})
	var (
		got       gathered
		remaining []string
	)
	list, err := source.Each(t.Context(), r, metav1.ListOptions{ResourceVersion: "0", Limit: 300}, func(p source.Part[*configMap]) error {
		word := "nil"
		if p.Remaining != nil {
			word = fmt.Sprint(*p.Remaining)
		}
		remaining = append(remaining, word)
		return got.take(p)
	})
	if err != nil || list.Pages != 3 || list.ResourceVersion != "9" || len(got.keys) != 302 {
		t.Errorf("%+v, %v, %d objects", list, err, len(got.keys))
	}
	if diff := cmp.Diff([]string{" 0", "p2 ", "p3 "}, asked); diff != "" {
		t.Errorf("requests differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"256+0", "44+0", "2+0", "0+0"}, got.parts); diff != "" {
		t.Errorf("parts differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"5", "5", "3", "nil"}, remaining); diff != "" {
		t.Errorf("Remaining differs (-want +got):\n%s", diff)
	}
}

// A continue token expires after parts: they are void, and the list comes whole.
func TestEachBeginsAgainIfATokenHasExpired(t *testing.T) {
	r := mustNew(t, serve(t, func(w http.ResponseWriter, req *http.Request) {
		query := req.URL.Query()
		switch {
		case query.Get("continue") != "":
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusGone)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`)
		case query.Get("limit") != "":
			body(listText(300, `"metadata":{"resourceVersion":"9","continue":"p2"},`, nil))(w, req)
		default:
			body(listText(257, `"metadata":{"resourceVersion":"12"},`, nil))(w, req)
		}
	}), Options[*configMap]{})
	var got gathered
	list, err := source.Each(t.Context(), r, metav1.ListOptions{Limit: 300}, got.take)
	if err != nil || list.Pages != 2 || list.ResourceVersion != "12" || len(got.keys) != 257 {
		t.Errorf("%+v, %v, %d objects", list, err, len(got.keys))
	}
	if diff := cmp.Diff([]string{"256+0", "44+0", "again", "256+0", "1+0"}, got.parts); diff != "" {
		t.Errorf("parts differ (-want +got):\n%s", diff)
	}

	full := errors.New("no room")
	_, err = source.Each(t.Context(), r, metav1.ListOptions{Limit: 300}, func(p source.Part[*configMap]) error {
		if p.Again {
			return full
		}
		return nil
	})
	if err != full { //nolint:errorlint // it must be the error itself
		t.Errorf("error is %v, want that of the part that begins again", err)
	}
}

// Whatever is wrong with an answer is an error of the list, also after parts of it.
func TestEachOfAnAnswerThatIsWrong(t *testing.T) {
	whole := listText(600, `"metadata":{"resourceVersion":"9"},`, nil)
	for name, test := range map[string]struct {
		text      string
		malformed bool
		parts     string
	}{
		"cut in the middle":    {whole[:len(whole)*2/3], false, "256+0"},
		"cut before the end":   {whole[:len(whole)-1], false, "256+0 256+0"},
		"an item that is none": {listText(600, "", map[int]string{400: `{"metadata":{"name":"o0400"},}`}), true, "256+0"},
		"more follows":         {whole + "{}", true, "256+0 256+0"},
		"no list":              {strings.Replace(whole, `{"kind":"ConfigMapList",`, `{`, 1)[:len(whole)-len(`"kind":"ConfigMapList",`)-1] + `,"kind":"Status"}`, true, "256+0 256+0"},
	} {
		t.Run(name, func(t *testing.T) {
			r := mustNew(t, serve(t, body(test.text)), Options[*configMap]{})
			var got gathered
			list, err := source.Each(t.Context(), r, metav1.ListOptions{}, got.take)
			if err == nil || list != nil || source.IsMalformed(err) != test.malformed || !strings.HasPrefix(err.Error(), "list configmaps: ") {
				t.Errorf("%+v, %v", list, err)
			}
			if !test.malformed && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("error is %v, want io.ErrUnexpectedEOF", err)
			}
			if parts := strings.Join(got.parts, " "); parts != test.parts {
				t.Errorf("parts %s, want %s", parts, test.parts)
			}
		})
	}
}

// An error of the receiver ends the list and comes back as it is, also one that would mean
// something if the server had sent it.
func TestEachReturnsTheErrorOfAPart(t *testing.T) {
	for _, refusal := range []error{errors.New("no room"), io.EOF, apierrors.NewResourceExpired("too old"), fmt.Errorf("row: %w", io.ErrUnexpectedEOF)} {
		for _, fails := range []int{1, 2, 3, 5} { // 5 is of a later page, where a 410 of the server begins the list again
			requests := 0
			r := mustNew(t, serve(t, func(w http.ResponseWriter, req *http.Request) {
				requests++
				body(listText(600, `"metadata":{"resourceVersion":"9","continue":"`+fmt.Sprint(requests)+`"},`, nil))(w, req)
			}), Options[*configMap]{})
			for name, lw := range map[string]source.ListWatcher[*configMap]{"Client": r, "whole pages": struct{ source.ListWatcher[*configMap] }{r}} {
				calls := 0
				list, err := source.Each(t.Context(), lw, metav1.ListOptions{}, func(source.Part[*configMap]) error {
					if calls++; calls == fails {
						return refusal
					}
					return nil
				})
				if err != refusal || list != nil || calls != fails { //nolint:errorlint // it must be the error itself
					t.Errorf("%s, part %d: %+v, %v after %d parts, want %v", name, fails, list, err, calls, refusal)
				}
			}
		}
	}
}

func TestEachEndsWithItsContext(t *testing.T) {
	r := mustNew(t, serve(t, func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, strings.TrimSuffix(listText(300, "", nil), "]}")) // and then nothing
		_ = http.NewResponseController(w).Flush()
		<-req.Context().Done()
	}), Options[*configMap]{})
	ctx, cancel := context.WithCancel(t.Context())
	var got gathered
	_, err := source.Each(ctx, r, metav1.ListOptions{}, func(p source.Part[*configMap]) error {
		cancel()
		return got.take(p)
	})
	if !errors.Is(err, context.Canceled) || len(got.parts) != 1 {
		t.Errorf("error is %v after %v", err, got.parts)
	}
}

// If a type embeds a Client and has its own List, Each calls that List.
func TestEachUsesTheListOfATypeThatEmbedsAClient(t *testing.T) {
	r := mustNew(t, serve(t, body(`{"kind":"ConfigMapList","items":[`+objectJSON+`]}`)), Options[*configMap]{})
	var names []string
	list, err := source.Each(t.Context(), &overriding{r}, metav1.ListOptions{}, func(p source.Part[*configMap]) error {
		for _, item := range p.Items {
			names = append(names, item.Name)
		}
		return nil
	})
	if err != nil || list.Pages != 1 || strings.Join(names, " ") != "mine" {
		t.Errorf("got %v, %+v, %v", names, list, err)
	}
}

// A list of 2,500 objects of 8 KB each, 20 MB in one answer, needs the memory of a part.
func TestEachNeedsTheMemoryOfAPart(t *testing.T) {
	const objects = 2_500
	filler := strings.Repeat("0123456789abcdef", 512)
	r := mustNew(t, serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[`)
		for i := range objects {
			if i > 0 {
				_, _ = io.WriteString(w, ",")
			}
			_, _ = fmt.Fprintf(w, `{"metadata":{"name":"o%05d","namespace":"shop","uid":"u%d","resourceVersion":"%d"},"data":{"k":"%s"}}`, i, i, i+1, filler)
		}
		_, _ = io.WriteString(w, `]}`)
	}), Options[*Raw]{})
	before := liveHeap()
	parts, seen, most := 0, 0, 0
	_, err := source.Each(t.Context(), r, metav1.ListOptions{ResourceVersion: "0"}, func(p source.Part[*Raw]) error {
		if parts++; parts%16 == 1 {
			most = max(most, liveHeap()-before)
		}
		for _, item := range p.Items {
			if item.Size() < len(filler) {
				return fmt.Errorf("%s has %d bytes", item, item.Size())
			}
		}
		seen += len(p.Items)
		return nil
	})
	if err != nil || seen != objects {
		t.Fatalf("%d objects, %v", seen, err)
	}
	if parts < objects*len(filler)/partBytes || most > 10<<20 {
		t.Errorf("%d parts needed up to %d bytes", parts, most)
	}
}

var _ source.PartLister[*configMap] = (*Client[*configMap])(nil)
