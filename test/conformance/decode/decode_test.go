package decode

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/internal/podlist"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

// lenient is how relist asks json/v2 to read.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

func unmarshaler[T any](tb testing.TB) func(object []byte) (T, error) {
	tb.Helper()
	unmarshal, err := listwatch.JSON.Unmarshaler(reflect.TypeFor[T](), format.Options{})
	must.OK(tb, err)
	return func(object []byte) (obj T, err error) {
		err = unmarshal(object, &obj)
		return obj, err
	}
}

// A list of them comes out the same, twice, although the second has half of its memory
// from the first.
func TestListedPods(t *testing.T) {
	items := podlist.Items(t)
	pods, maps := listed[*corev1.Pod](t), listed[*unstructured.Unstructured](t)
	for range 2 {
		for i, got := range pods() {
			var want corev1.Pod
			must.OK(t, utiljson.Unmarshal(items[i], &want))
			if !reflect.DeepEqual(&want, got) {
				t.Fatalf("Pod %d: (-apimachinery +relist)\n%s", i, cmp.Diff(&want, got))
			}
		}
		for i, got := range maps() {
			want := map[string]any{"kind": "Pod", "apiVersion": "v1"}
			must.OK(t, utiljson.Unmarshal(items[i], &want))
			if !reflect.DeepEqual(want, got.Object) {
				t.Fatalf("Pod %d, unstructured: (-apimachinery +relist)\n%s", i, cmp.Diff(want, got.Object))
			}
		}
	}
}

// listed returns a function that lists the Pods over HTTP.
func listed[T object.Object](t *testing.T) func() []T {
	t.Helper()
	text := podlist.Text(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text)
	}))
	t.Cleanup(server.Close)
	client, err := transport.NewClient(transport.Config{Server: server.URL})
	must.OK(t, err)
	t.Cleanup(client.Close)
	resource, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, listwatch.Options[T]{})
	must.OK(t, err)
	return func() []T {
		page, err := resource.List(t.Context(), metav1.ListOptions{})
		must.OK(t, err)
		if len(page.Items) != 300 || len(page.Errors) > 0 {
			t.Fatalf("%d items, %d of which are bad", len(page.Items)+len(page.Errors), len(page.Errors))
		}
		return page.Items
	}
}

// values are put in the place of others, and noise anywhere: bytes that do not match, or
// are no text.
var (
	values = []string{
		"null", "true", "0", "-1", "1.5", "1e400", "9223372036854775808", `""`, `"\u00e9\ud800"`, "\"\xff\"", `"2026-11-20T11:18:00Z"`, `"100m"`,
		"[]", "{}", `[null]`, `{"a":null}`, ` null `, "tru", "01",
	}
	noise = []string{"{", "}", "[", "]", ",", ":", "\"", "\\", "\x00", "\x01", " ", "\n", "x", "é"}
)

// mutate returns a copy of data in which a few places are changed.
func mutate(data []byte, rnd *rand.Rand) []byte {
	for range 1 + rnd.IntN(2) {
		at := rnd.IntN(len(data))
		end, with := at, noise[rnd.IntN(len(noise))]
		switch i := bytes.Index(data[at:], []byte(`":`)); {
		case i >= 0 && rnd.IntN(8) > 0: // the value of a member
			at += i + 2
			end, with = valueEnd(data, at), values[rnd.IntN(len(values))]
		case rnd.IntN(2) == 0: // something else of the same object
			from := rnd.IntN(len(data))
			with = string(data[from:min(from+rnd.IntN(200), len(data))])
		}
		data = append(append(bytes.Clone(data[:at]), with...), data[end:]...)
	}
	return data
}

func valueEnd(data []byte, at int) int {
	dec := jsontext.NewDecoder(bytes.NewReader(data[at:]), lenient)
	if dec.SkipValue() != nil {
		return at
	}
	return at + int(dec.InputOffset())
}

// Mutated Pods are refused where json/v2 refuses them, and are otherwise what it makes
// of them; unstructured ones the same with apimachinery.
func TestMutatedPods(t *testing.T) {
	items := podlist.Items(t)
	decode, decodeMaps := unmarshaler[*corev1.Pod](t), unmarshaler[*unstructured.Unstructured](t)
	refused := 0
	const rounds = 2000
	for seed := range uint64(rounds) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		data := mutate(items[rnd.IntN(len(items))], rnd)
		var want *corev1.Pod
		wantErr := json.Unmarshal(data, &want, lenient)
		got, err := decode(data)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("seed %d: error %v, json/v2 says %v\n%s", seed, err, wantErr, data)
		}
		if wantErr != nil {
			refused++
		} else if !reflect.DeepEqual(want, got) {
			t.Fatalf("seed %d: (-json/v2 +relist)\n%s\n%s", seed, cmp.Diff(want, got), data)
		}
		wantMaps := map[string]any{}
		wantErr = utiljson.Unmarshal(data, &wantMaps)
		gotMaps, err := decodeMaps(data)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("seed %d, unstructured: error %v, apimachinery says %v\n%s", seed, err, wantErr, data)
		}
		if err == nil && !reflect.DeepEqual(wantMaps, gotMaps.Object) {
			t.Fatalf("seed %d, unstructured: (-apimachinery +relist)\n%s\n%s", seed, cmp.Diff(wantMaps, gotMaps.Object), data)
		}
	}
	if refused < rounds/10 || refused > rounds*9/10 {
		t.Errorf("%d of %d were refused: the mutations test one side only", refused, rounds)
	}
}
