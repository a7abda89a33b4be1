package durabletest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
)

// opened is a Copy that was opened, with methods that end the test if a call fails that must not.
type opened[T object.Object] struct {
	*rig[T]
	durable.Copy[T]
	kill func()
}

func (o *opened[T]) load() durable.State {
	o.Helper()
	state, err := o.Load(o.Context())
	if err != nil {
		o.Fatalf("Load: %v", err)
	}
	return state
}

// patience is how long a Begin may take before the test fails. Tests of this package make it
// shorter.
var patience = time.Minute

func (o *opened[T]) begin(current durable.State) durable.Tx[T] {
	o.Helper()
	ctx, cancel := context.WithTimeout(o.Context(), patience)
	defer cancel()
	tx, err := o.Begin(ctx, current, o.list)
	if err != nil {
		o.Fatalf("Begin at epoch %d and version %q, which the last commit has: %v", current.Epoch, current.Point.Version, err)
	}
	return tx
}

func (o *opened[T]) write(tx durable.Tx[T], changes ...durable.Change[T]) {
	o.Helper()
	if err := tx.Write(o.Context(), changes); err != nil {
		o.Fatalf("Write of %d changes: %v", len(changes), err)
	}
}

// commit makes one transaction, with as many Writes as there are slices, and returns the new state.
func (o *opened[T]) commit(current, next durable.State, writes ...[]durable.Change[T]) durable.State {
	o.Helper()
	tx := o.begin(current)
	for _, changes := range writes {
		o.write(tx, changes...)
	}
	o.end(tx, next)
	return next
}

// end commits what was written.
func (r *rig[T]) end(tx durable.Tx[T], next durable.State) {
	r.Helper()
	if err := tx.Commit(r.Context(), next); err != nil {
		r.Fatalf("Commit: %v", err)
	}
}

func (r *rig[T]) rollback(tx durable.Tx[T]) {
	r.Helper()
	if err := tx.Rollback(); err != nil {
		r.Fatalf("Rollback: %v", err)
	}
}

func (o *opened[T]) held(keys ...string) []object.Meta {
	o.Helper()
	metas, err := o.Held(o.Context(), keys)
	switch {
	case err != nil:
		o.Fatalf("Held of %d keys: %v", len(keys), err)
	case len(metas) != len(keys):
		o.Fatalf("Held returned %d rows for %d keys: it returns one for each key, the zero Meta if there is no row", len(metas), len(keys))
	}
	return metas
}

func (o *opened[T]) keys(after string, limit int) []string {
	o.Helper()
	keys, err := o.Keys(o.Context(), after, limit)
	if err != nil {
		o.Fatalf("Keys after %q: %v", after, err)
	}
	return keys
}

// wantState compares the state of the last commit.
func (o *opened[T]) wantState(want durable.State, when string) {
	o.Helper()
	if got := o.load(); asJSON(got) != asJSON(want) {
		o.Fatalf("%s: Load returned\n%s\nwant\n%s", when, asJSON(got), asJSON(want))
	}
}

// wantRows compares want with the rows in the place, and with what Keys and Held return. No
// transaction may be open.
func (o *opened[T]) wantRows(want map[string]Row, when string) {
	o.Helper()
	o.wantCommitted(want, when)
	o.wantSeen(want, when)
}

// wantSeen compares want with what Keys and Held of this Copy return. If a transaction is open,
// they see what it has written.
func (o *opened[T]) wantSeen(want map[string]Row, when string) {
	o.Helper()
	keys := slices.Sorted(maps.Keys(want))
	if got := o.keys("", len(want)+1); !slices.Equal(got, keys) {
		o.Fatalf("%s: Keys returned %q, want %q", when, got, keys)
	}
	for i, meta := range o.held(keys...) {
		if meta != want[keys[i]].Meta {
			o.Fatalf("%s: Held of %q returned %+v, want %+v", when, keys[i], meta, want[keys[i]].Meta)
		}
	}
}

// wantCommitted compares want with the rows that another program sees.
func (r *rig[T]) wantCommitted(want map[string]Row, when string) {
	r.Helper()
	if diff := diffRows(r.place.Rows(), want, nil); diff != "" {
		r.Fatalf("%s: the rows are wrong: %s", when, diff)
	}
}

// diffRows compares rows, except those of some keys. It returns "" if they are equal.
func diffRows(rows []Row, want map[string]Row, except []string) string {
	got := map[string]Row{}
	for _, row := range rows {
		if _, twice := got[row.Meta.Key]; twice {
			return fmt.Sprintf("two rows have the key %q", row.Meta.Key)
		}
		got[row.Meta.Key] = row
	}
	both := maps.Clone(got)
	maps.Copy(both, want)
	for _, key := range slices.Sorted(maps.Keys(both)) {
		if slices.Contains(except, key) {
			continue
		}
		g, has := got[key]
		w, wanted := want[key]
		switch {
		case !wanted:
			return fmt.Sprintf("there is a row %q, version %s, which must not be there", key, g.Meta.ResourceVersion)
		case !has:
			return fmt.Sprintf("the row %q, version %s, is missing", key, w.Meta.ResourceVersion)
		case g.Meta != w.Meta:
			return fmt.Sprintf("the row %q is of %+v, want %+v", key, g.Meta, w.Meta)
		case !equalJSON(g.Object, w.Object):
			return fmt.Sprintf("the object of %q is\n%s\nwant\n%s", key, short(g.Object), short(w.Object))
		}
	}
	return ""
}

func short(object []byte) string {
	const most = 2000
	if len(object) > most {
		return fmt.Sprintf("%s… (%d bytes)", object[:most], len(object))
	}
	return string(object)
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic("durabletest: unreachable: a state has strings and numbers only: " + err.Error())
	}
	return string(text)
}

// equalJSON reports whether two texts have the same value. The order of members does not count, nor
// does the notation of numbers.
func equalJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, errX := decode(a)
	y, errY := decode(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

// decode decodes JSON. It writes every number as a fraction, so that two equal numbers have the
// same text.
func decode(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return exact(v), nil
}

func exact(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			v[name] = exact(member)
		}
	case []any:
		for i, element := range v {
			v[i] = exact(element)
		}
	case json.Number:
		if number, ok := new(big.Rat).SetString(v.String()); ok {
			return json.Number(number.String())
		}
	}
	return v
}

// object makes an object of a ConfigMap with additional members, such as `"data":{"tea":"3"}`.
func (r *rig[T]) object(meta object.Meta, members string) T {
	r.Helper()
	namespace, name, ok := strings.Cut(meta.Key, "/")
	if !ok {
		namespace, name = "", meta.Key
	}
	metadata := map[string]string{"name": name, "uid": string(meta.UID), "resourceVersion": meta.ResourceVersion}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	if members != "" {
		members = "," + members
	}
	text := `{"apiVersion":"v1","kind":"ConfigMap","metadata":` + asJSON(metadata) + members + `}`
	var obj T
	if err := json.Unmarshal([]byte(text), &obj); err != nil {
		r.Fatalf("json.Unmarshal of %s into a %T: %v", short([]byte(text)), obj, err)
	}
	return obj
}

// put is a change that writes an object, whose UID is made of its key.
func (r *rig[T]) put(key, version, members string) durable.Change[T] {
	r.Helper()
	return r.putMeta(object.Meta{Key: key, UID: types.UID("uid-of-" + key), ResourceVersion: version}, members)
}

func (r *rig[T]) putMeta(meta object.Meta, members string) durable.Change[T] {
	r.Helper()
	return durable.Change[T]{Meta: meta, Object: r.object(meta, members), Op: durable.Put}
}

// gone is a change that deletes the row of a key.
func gone[T any](how durable.Op, key, version string) durable.Change[T] {
	return durable.Change[T]{Meta: object.Meta{Key: key, UID: types.UID("uid-of-" + key), ResourceVersion: version}, Op: how}
}

func rowsAfter[T object.Object](r *rig[T], rows map[string]Row, changes ...durable.Change[T]) map[string]Row {
	r.Helper()
	after := map[string]Row{}
	maps.Copy(after, rows)
	for _, c := range changes {
		if c.Op != durable.Put {
			delete(after, c.Meta.Key)
			continue
		}
		after[c.Meta.Key] = r.row(c.Meta, c.Object)
	}
	return after
}

func (r *rig[T]) row(meta object.Meta, obj T) Row {
	r.Helper()
	text, err := json.Marshal(obj)
	if err != nil {
		r.Fatalf("json.Marshal of %s: %v", meta.Key, err)
	}
	return Row{Meta: meta, Object: text}
}

func at(epoch int64, version string) durable.State {
	return durable.State{Epoch: epoch, Point: reflector.Point{Version: version}, Stream: stream()}
}

func stream() durable.Stream {
	return durable.Stream{Cluster: "3a0d2c29-5d1f-4a8e-9a5e-2f7c0f1b6d11", Version: "v1", Resource: "configmaps"}
}
