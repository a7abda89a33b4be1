package checkpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	carp "k8s.io/apimachinery/pkg/apis/testapigroup/v1"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/informer/checkpoint"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/listwatch/lazy"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/protocol"
	"github.com/relist-go/relist/reflector"
)

// ofThings is what the copies of these tests are of.
const ofThings = `{"resource":"things"}`

type thing struct {
	metav1.ObjectMeta `json:"metadata"`
	Value             int `json:"value"`
}

func describe(items []*thing) []string {
	var out []string
	for _, obj := range items {
		out = append(out, fmt.Sprintf("%s %s %d", object.Key(obj), obj.UID, obj.Value))
	}
	return out
}

func point(version string) reflector.Point { return reflector.Point{Version: version} }

func someThings(n int) []*thing {
	var all []*thing
	for i := range n {
		obj := &thing{Value: i}
		obj.Namespace, obj.Name, obj.UID, obj.ResourceVersion = "ns", fmt.Sprintf("thing-%04d", i), "uid", "7"
		all = append(all, obj)
	}
	return all
}

func save[T object.Object](t *testing.T, c informer.Checkpointer[T], at reflector.Point, objects ...T) {
	t.Helper()
	must.OK(t, c.Save(t.Context(), ofThings, at, slices.Values(objects)))
}

// What is saved comes back, whatever the number of objects.
func TestFileComesBack(t *testing.T) {
	for _, n := range []int{0, 1, 255, 256, 257, 3000} {
		path := filepath.Join(t.TempDir(), "things")
		file := checkpoint.File[*thing](path, checkpoint.Options{})
		at := reflector.Point{
			Version: "40", Unsure: []string{"ns/x"},
			Newest: []protocol.Newest{{Meta: object.Meta{Key: "ns/y", UID: "u", ResourceVersion: "39"}, Gone: true}},
		}
		save(t, file, at, someThings(n)...)
		objects, got, err := file.Load(t.Context(), ofThings)
		if err != nil || got.Version != "40" || fmt.Sprint(got) != fmt.Sprint(at) || !slices.Equal(describe(objects), describe(someThings(n))) {
			t.Errorf("%d objects come back as %d at %v: %v", n, len(objects), got, err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file has the mode %v: %v", info.Mode(), err)
		}
	}
}

// Objects of other types come back, too: those without a struct, and those with a kind.
func TestFileOfOtherTypes(t *testing.T) {
	dir := t.TempDir()
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "w", "uid": "u", "resourceVersion": "7"},
		"spec": map[string]any{"size": int64(9007199254740993), "share": 0.5, "on": true, "none": nil, "list": []any{"a", int64(1)}},
	}}
	widgets := checkpoint.File[*unstructured.Unstructured](filepath.Join(dir, "widgets"), checkpoint.Options{})
	save(t, widgets, point("7"), u)
	if got, _, err := widgets.Load(t.Context(), ofThings); err != nil || len(got) != 1 || fmt.Sprint(got[0].Object) != fmt.Sprint(u.Object) {
		t.Errorf("%v comes back as %v: %v", u, got, err)
	}
	m := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", ResourceVersion: "7", Labels: map[string]string{"a": "b"}},
	}
	nodes := checkpoint.File[*metav1.PartialObjectMetadata](filepath.Join(dir, "nodes"), checkpoint.Options{})
	save(t, nodes, point("7"), m)
	if got, _, err := nodes.Load(t.Context(), ofThings); err != nil || len(got) != 1 || fmt.Sprint(*got[0]) != fmt.Sprint(*m) {
		t.Errorf("%v comes back as %v: %v", m, got, err)
	}
}

// Protobuf has no kind. So if a transform has given one to any object of a generated type, the file
// is in JSON. Otherwise it is in protobuf. Load reads both.
func TestFileOfAGeneratedType(t *testing.T) {
	path := filepath.Join(t.TempDir(), "carps")
	file := checkpoint.File[*carp.Carp](path, checkpoint.Options{})
	for _, kinds := range [][]string{{"", ""}, {"", "Carp"}, {"Carp", ""}, {"", ""}} {
		var carps []*carp.Carp
		for i, kind := range kinds {
			carps = append(carps, &carp.Carp{
				TypeMeta:   metav1.TypeMeta{Kind: kind},
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("c", i), UID: "u", ResourceVersion: "7"},
				Spec:       carp.CarpSpec{NodeName: "pond"},
			})
		}
		save(t, file, point("7"), carps...)
		got, _, err := file.Load(t.Context(), ofThings)
		if err != nil || !equality.Semantic.DeepEqual(got, carps) {
			t.Errorf("kinds %q: %v comes back as %v: %v", kinds, carps, got, err)
		}
		data, err := os.ReadFile(path)
		if inJSON := strings.Contains(string(data), `"nodeName":"pond"`); err != nil || inJSON != slices.Contains(kinds, "Carp") {
			t.Errorf("kinds %q: the objects are in JSON: %v (%v)", kinds, inJSON, err)
		}
	}
	twice := 0
	once := func(yield func(*carp.Carp) bool) {
		if twice++; twice > 1 {
			return
		}
		for i, kind := range []string{"", "Carp"} {
			if !yield(&carp.Carp{TypeMeta: metav1.TypeMeta{Kind: kind}, ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("c", i)}}) {
				return
			}
		}
	}
	if err := file.Save(t.Context(), ofThings, point("8"), once); err == nil {
		t.Error("objects that come only once were saved as none")
	}
	if got, at, err := file.Load(t.Context(), ofThings); err != nil || len(got) != 2 || at.Version != "7" {
		t.Errorf("after a save that failed: %d objects at %s, %v", len(got), at.Version, err)
	}
}

// The bytes of an object come back as they are, in JSON as in protobuf.
func TestFileOfRaw(t *testing.T) {
	file := checkpoint.File[*listwatch.Raw](filepath.Join(t.TempDir(), "raw"), checkpoint.Options{})
	var objs []*listwatch.Raw
	for _, text := range []string{
		`{"kind":"A", "metadata":{"name":"a","uid":"u1","resourceVersion":"7"},"data":"<&>\u003c\u2028"}`,
		"\x0a\x0a\x0a\x01b\x2a\x02u\x32\x32\x01\x38\x12\x04spec",
	} {
		obj, err := listwatch.ParseRaw([]byte(text))
		must.OK(t, err)
		objs = append(objs, obj)
	}
	save(t, file, point("8"), objs...)
	got, _, err := file.Load(t.Context(), ofThings)
	if err != nil || len(got) != len(objs) {
		t.Fatalf("%v, %v", got, err)
	}
	for i, obj := range objs {
		if string(got[i].Bytes()) != string(obj.Bytes()) || got[i].GetUID() != obj.GetUID() {
			t.Errorf("%q comes back as %q", obj.Bytes(), got[i].Bytes())
		}
	}
}

// lossy has a name in JSON that does not come back.
type lossy struct {
	metav1.ObjectMeta `json:"-"`

	Name string `json:"name"`
}

// A lazy object comes back with the bytes that it has, whatever they are, so a relist finds it
// unchanged. It comes back even if it cannot be decoded, which Unchecked allows: one object must
// not keep a cache from being saved.
func TestFileOfLazyObjects(t *testing.T) {
	encoding, err := lazy.New[*thing](lazy.Options{Unchecked: true})
	must.OK(t, err)
	unmarshal, err := encoding.Unmarshaler(reflect.TypeFor[*lazy.Object[*thing]](), format.Options{})
	must.OK(t, err)
	var objects []*lazy.Object[*thing]
	for i, value := range []string{`1`, `"no number"`, `"<b>&\u003c\u2028"`, "\"\u2028\"", "\"\xff\"", `1e3`, ` { "a" : [ ] } `} {
		var obj *lazy.Object[*thing]
		must.OK(t, unmarshal(fmt.Appendf(nil, `{"kind":"Thing", "metadata":{"name":"%d"},"value":%s}`, i, value), &obj))
		objects = append(objects, obj)
	}
	file := checkpoint.File[*lazy.Object[*thing]](filepath.Join(t.TempDir(), "things"), checkpoint.Options{})
	save(t, file, point("7"), objects...)
	got, _, err := file.Load(t.Context(), ofThings)
	if err != nil || len(got) != len(objects) {
		t.Fatalf("%d of %d come back: %v", len(got), len(objects), err)
	}
	for i, obj := range got {
		if !obj.Equal(objects[i]) {
			t.Errorf("%q comes back as %q", objects[i].Bytes(), obj.Bytes())
		}
	}
}

// A type whose objects do not come back is refused when it is saved, not when it is needed.
func TestFileOfAnObjectThatDoesNotComeBack(t *testing.T) {
	file := checkpoint.File[*lossy](filepath.Join(t.TempDir(), "lossy"), checkpoint.Options{})
	obj := &lossy{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Name: "a"}
	if err := file.Save(t.Context(), ofThings, point("7"), slices.Values([]*lossy{obj})); err == nil {
		t.Error("it was saved")
	}
}

// picky has a mode that it writes and does not read, and one that it reads as another.
type picky struct {
	metav1.ObjectMeta `json:"metadata"`

	Mode mode `json:"mode"`
}

type mode string

func (m *mode) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case `"refused"`:
		return errors.New("no such mode")
	case `"changed"`:
		*m = "another"
		return nil
	}
	return json.Unmarshal(data, (*string)(m))
}

// Each object is looked at, and not only the first.
func TestFileOfOneObjectThatDoesNotComeBack(t *testing.T) {
	for _, last := range []mode{"refused", "changed", "good"} {
		file := checkpoint.File[*picky](filepath.Join(t.TempDir(), "picky"), checkpoint.Options{})
		a, b := &picky{Mode: "good"}, &picky{Mode: last}
		a.Name, b.Name = "a", "b"
		err := file.Save(t.Context(), ofThings, point("7"), slices.Values([]*picky{a, b}))
		if saved := err == nil; saved != (last == "good") || !saved && !strings.Contains(err.Error(), "object b") {
			t.Errorf("an object whose mode is %s: %v", last, err)
		}
	}
}

// reading decodes itself from protobuf, and has the Marshal of its metadata.
type reading struct {
	metav1.ObjectMeta `json:"metadata" protobuf:"bytes,1,opt,name=metadata"`

	Value string `json:"value" protobuf:"bytes,2,opt,name=value"`
}

func (r *reading) Unmarshal(data []byte) error {
	var m metav1.PartialObjectMetadata
	err := m.Unmarshal(data)
	r.ObjectMeta = m.ObjectMeta
	return err
}

// A type that only reads protobuf is written in JSON.
func TestFileOfATypeThatOnlyReadsProtobuf(t *testing.T) {
	file := checkpoint.File[*reading](filepath.Join(t.TempDir(), "readings"), checkpoint.Options{})
	save(t, file, point("7"), &reading{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u", ResourceVersion: "7"}, Value: "v"})
	if got, _, err := file.Load(t.Context(), ofThings); err != nil || len(got) != 1 || got[0].Name != "a" || got[0].Value != "v" {
		t.Errorf("comes back as %v: %v", got, err)
	}
}

// Every byte counts: a file that ends at any of them, or in which any of them is another, is
// refused. There is no panic, and nothing but the whole copy ever comes back.
func TestFileThatIsDamagedAnywhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "things")
	file := checkpoint.File[*thing](path, checkpoint.Options{Cluster: "c"})
	save(t, file, point("40"), someThings(3)...)
	whole, err := os.ReadFile(path)
	must.OK(t, err)
	refused := func(what string, data []byte) {
		t.Helper()
		must.OK(t, os.WriteFile(path, data, 0o600))
		if objects, at, err := file.Load(t.Context(), ofThings); err == nil || objects != nil || at.Version != "" {
			t.Errorf("%s: %d objects at %q: %v", what, len(objects), at.Version, err)
		}
	}
	for i := range whole {
		refused(fmt.Sprintf("cut after %d bytes", i), whole[:i])
		for _, flip := range []byte{0x01, 0x20, 0x80, 0xff} {
			damaged := slices.Clone(whole)
			damaged[i] ^= flip
			refused(fmt.Sprintf("byte %d is %#x instead of %#x", i, damaged[i], whole[i]), damaged)
		}
		refused(fmt.Sprintf("byte %d is missing", i), slices.Delete(slices.Clone(whole), i, i+1))
		zeros := slices.Clone(whole)
		clear(zeros[i:])
		if !slices.Equal(zeros, whole) {
			refused(fmt.Sprintf("zeros from byte %d on", i), zeros)
		}
	}
	refused("one byte more", append(slices.Clone(whole), 0))
	refused("twice", slices.Concat(whole, whole))
}

// A process that is killed while it saves leaves the old file, whatever it has written of the new
// one. What it leaves beside that is removed by a later save.
func TestFileIsWholeOrOld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "things[1]*")
	file := checkpoint.File[*thing](path, checkpoint.Options{})
	save(t, file, point("40"), someThings(3)...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var beside []string
	interrupted := func(yield func(*thing) bool) {
		for i, obj := range someThings(2000) {
			if i == 1000 {
				beside, _ = filepath.Glob(filepath.Join(filepath.Dir(path), "*.tmp"))
				if objects, _, err := file.Load(t.Context(), ofThings); err != nil || len(objects) != 3 {
					t.Errorf("in the middle of a save: %d objects, %v", len(objects), err)
				}
				cancel()
			}
			if !yield(obj) {
				return
			}
		}
	}
	if err := file.Save(ctx, ofThings, point("50"), interrupted); !errors.Is(err, context.Canceled) || len(beside) != 1 {
		t.Errorf("Save returned %v with %v beside it", err, beside)
	}
	if objects, at, err := file.Load(t.Context(), ofThings); err != nil || len(objects) != 3 || at.Version != "40" {
		t.Errorf("afterwards: %d objects at %q, %v", len(objects), at.Version, err)
	}
	for name, age := range map[string]time.Duration{".old": 2 * time.Hour, ".new": 0, "": 2 * time.Hour} { // the last is not a file of Save
		left := path + name + ".tmp"
		must.OK(t, os.WriteFile(left, []byte(`relist`), 0o600))
		must.OK(t, os.Chtimes(left, time.Time{}, time.Now().Add(-age)))
	}
	save(t, file, point("50"), someThings(3)...)
	if names, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(names) != 3 || names[1] != path+".new.tmp" || names[2] != path+".tmp" {
		t.Errorf("left is %v", names)
	}
}

// What killed processes have left is removed although the save fails: the disk may be full of it.
func TestFileMakesRoomBeforeItWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "things")
	left := path + ".1.tmp"
	must.OK(t, os.WriteFile(left, []byte("relist"), 0o600))
	must.OK(t, os.Chtimes(left, time.Time{}, time.Now().Add(-2*time.Hour)))
	file := checkpoint.File[*thing](path, checkpoint.Options{})
	full := func(func(*thing) bool) {
		if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("an old unfinished file is there while another is written: %v", err)
		}
	}
	if err := file.Save(t.Context(), ofThings, point("40"), full); err != nil {
		t.Error(err)
	}
}

// A copy of something else is refused, and the error says what differs.
func TestForeignFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "things")
	save(t, checkpoint.File[*thing](path, checkpoint.Options{Cluster: "c", Version: "1"}), point("40"), someThings(3)...)
	for _, other := range []struct {
		of   string
		opts checkpoint.Options
		want string
	}{
		{`{"resource":"widgets"}`, checkpoint.Options{Cluster: "c", Version: "1"}, "widgets"},
		{ofThings, checkpoint.Options{Cluster: "d", Version: "1"}, "cluster"},
		{ofThings, checkpoint.Options{Cluster: "c"}, "version"},
	} {
		objects, at, err := checkpoint.File[*thing](path, other.opts).Load(t.Context(), other.of)
		if err == nil || !strings.Contains(err.Error(), other.want) || objects != nil || at.Version != "" {
			t.Errorf("%+v: %d objects at %q, %v", other, len(objects), at.Version, err)
		}
	}
}

// A folder that is not there, and objects that cannot be written, are errors that leave nothing
// behind.
func TestFileThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	file := checkpoint.File[*thing](filepath.Join(dir, "missing", "things"), checkpoint.Options{})
	if err := file.Save(t.Context(), ofThings, point("40"), slices.Values(someThings(1))); err == nil {
		t.Error("saved into a folder that is not there")
	}
	if objects, at, err := file.Load(t.Context(), ofThings); err != nil || objects != nil || at.Version != "" {
		t.Errorf("without a file: %v at %q, %v", objects, at.Version, err)
	}
	endless := checkpoint.File[*endless](filepath.Join(dir, "things"), checkpoint.Options{})
	if err := endless.Save(t.Context(), ofThings, point("40"), endlessObjects()); err == nil {
		t.Error("saved what has no JSON")
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) != 0 {
		t.Errorf("left is %v", names)
	}
}

// endless has no JSON.
type endless struct {
	metav1.ObjectMeta `json:"metadata"`

	Number noNumber `json:"number"`
}

type noNumber struct{}

func (noNumber) MarshalJSON() ([]byte, error) { return nil, errors.New("no number") }

func endlessObjects() iter.Seq[*endless] {
	return slices.Values([]*endless{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}})
}

// FuzzCheckpointFile reads any bytes as a file.
func FuzzCheckpointFile(f *testing.F) {
	path := filepath.Join(f.TempDir(), "things")
	file := checkpoint.File[*thing](path, checkpoint.Options{})
	if err := file.Save(context.Background(), ofThings, point("40"), slices.Values(someThings(2))); err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte("relist checkpoint 1\n\xff\xff\xff\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if slices.Equal(data, whole) {
			return
		}
		path := filepath.Join(t.TempDir(), "things")
		must.OK(t, os.WriteFile(path, data, 0o600))
		objects, at, err := checkpoint.File[*thing](path, checkpoint.Options{}).Load(t.Context(), ofThings)
		if err != nil && (objects != nil || at.Version != "") {
			t.Errorf("%d objects at %q beside %v", len(objects), at.Version, err)
		}
	})
}

// touchy is an object that cannot be written if its value is 13.
type touchy struct{ thing }

func (o *touchy) MarshalJSON() ([]byte, error) {
	if o.Value == 13 {
		panic("unlucky")
	}
	return json.Marshal(o.thing)
}

// An object whose code panics when it is written spoils the copy, and leaves no unfinished file.
func TestFileOfAnObjectThatPanics(t *testing.T) {
	folder := t.TempDir()
	file := checkpoint.File[*touchy](filepath.Join(folder, "things"), checkpoint.Options{})
	good, bad := &touchy{}, &touchy{}
	good.Name, bad.Name, bad.Value = "good", "bad", 13
	err := file.Save(t.Context(), `{}`, reflector.Point{Version: "1"}, func(yield func(*touchy) bool) { _ = yield(good) && yield(bad) })
	if err == nil || !strings.Contains(err.Error(), "object bad") || !strings.Contains(err.Error(), "unlucky") {
		t.Errorf("Save returned %v", err)
	}
	if left, _ := os.ReadDir(folder); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}
