package durabletest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/object"
)

// mutants break a promise each. The check that is named must notice.
var mutants = []struct {
	name, check string
	bend        func(*bent)
}{
	{"the first epoch is 1", "EmptyPlace", eachLoad(func(s *durable.State) { s.Epoch = max(s.Epoch, 1) })},
	{"unsure keys are lost", "State", eachLoad(func(s *durable.State) { s.Point.Unsure = nil })},
	{"unsure keys are cut", "State", eachLoad(func(s *durable.State) { s.Point.Unsure = s.Point.Unsure[:min(len(s.Point.Unsure), 999)] })},
	{"unsure keys are committed late", "State", func(b *bent) {
		b.commit = func(ctx context.Context, tx durable.Tx[obj], next durable.State) error {
			next.Point.Unsure = b.m.State().Point.Unsure
			return tx.Commit(ctx, next)
		}
	}},
	{"newest are lost", "State", eachLoad(func(s *durable.State) { s.Point.Newest = nil })},
	{"gone is lost", "State", eachLoad(func(s *durable.State) {
		for i := range s.Point.Newest {
			s.Point.Newest[i].Gone = false
		}
	})},
	{"the stream is lost", "State", eachLoad(func(s *durable.State) { s.Stream.Shape = "" })},
	{"unselected is lost", "State", eachLoad(func(s *durable.State) { s.Unselected = false })},
	{"reshaped is lost", "State", eachLoad(func(s *durable.State) { s.Reshaped = false })},
	{"the epoch has 32 bits", "State", eachLoad(func(s *durable.State) { s.Epoch &= 1<<32 - 1 })},
	{"the version is a number", "State", eachLoad(func(s *durable.State) {
		if n, err := strconv.ParseFloat(s.Point.Version, 64); err == nil {
			s.Point.Version = strconv.FormatFloat(n, 'f', -1, 64)
		}
	})},
	{"the state is in the memory of the Copy", "State", func(b *bent) {
		var state durable.State
		b.load = func(ctx context.Context) (durable.State, error) { _, err := b.memoryCopy.Load(ctx); return state, err }
		b.commit = func(ctx context.Context, tx durable.Tx[obj], next durable.State) error {
			state = next
			return tx.Commit(ctx, next)
		}
	}},
	{"the epoch does not fence", "FencedByEpoch", eachBegin(func(c *durable.State, last durable.State) { c.Epoch = last.Epoch })},
	{"a lower epoch fences only", "FencedByEpoch", eachBegin(func(c *durable.State, last durable.State) {
		if c.Epoch > last.Epoch {
			c.Epoch = last.Epoch
		}
	})},
	{"Load trusts the memory of the Copy", "FencedByEpoch", func(b *bent) {
		var last *durable.State
		b.load = func(ctx context.Context) (durable.State, error) {
			state, err := b.memoryCopy.Load(ctx)
			if last != nil {
				return *last, err
			}
			last = &state
			return state, err
		}
		b.begin = func(ctx context.Context, current durable.State, list bool) (durable.Tx[obj], error) {
			last = &current
			return b.memoryCopy.Begin(ctx, current, list)
		}
	}},
	{"fenced is another error", "FencedByEpoch", func(b *bent) {
		b.begin = func(ctx context.Context, current durable.State, list bool) (durable.Tx[obj], error) {
			tx, err := b.memoryCopy.Begin(ctx, current, list)
			if err != nil {
				return nil, errors.New("no row was changed")
			}
			return tx, nil
		}
	}},
	{"a Copy that was fenced stays so", "FencedByEpoch", func(b *bent) {
		fenced := false
		b.begin = func(ctx context.Context, current durable.State, list bool) (durable.Tx[obj], error) {
			tx, err := b.memoryCopy.Begin(ctx, current, list)
			if fenced = fenced || err != nil; fenced {
				return nil, durable.ErrFenced
			}
			return tx, nil
		}
	}},
	{"the version does not fence", "FencedByVersion", eachBegin(func(c *durable.State, last durable.State) { c.Point.Version = last.Point.Version })},
	{"versions are compared as numbers", "FencedByVersion", eachBegin(func(c *durable.State, last durable.State) {
		a, _ := strconv.Atoi(c.Point.Version)
		if b, _ := strconv.Atoi(last.Point.Version); a == b {
			c.Point.Version = last.Point.Version
		}
	})},
	{"an empty place does not fence", "FencedAtEmptyPlace", eachBegin(func(c *durable.State, last durable.State) {
		if last.Epoch == 0 {
			*c = last
		}
	})},
	{"who opens first is not fenced", "FencedAtEmptyPlace", eachBegin(func(c *durable.State, last durable.State) {
		if c.Epoch == 0 {
			*c = last
		}
	})},
	{"the whole state fences", "OtherMembersDoNotFence", func(b *bent) {
		b.begin = func(ctx context.Context, current durable.State, list bool) (durable.Tx[obj], error) {
			if !reflect.DeepEqual(current, b.m.State()) {
				return nil, durable.ErrFenced
			}
			return b.memoryCopy.Begin(ctx, current, list)
		}
	}},
	{"Begin compares and does not lock", "TransactionExcludes", lockless},
	{"Begin compares and does not lock, at once", "TwoBeginAtOnce", lockless},
	{"Begin compares before it waits", "TransactionExcludes", func(b *bent) {
		b.begin = func(_ context.Context, current durable.State, _ bool) (durable.Tx[obj], error) {
			if last := b.m.State(); last.Epoch != current.Epoch || last.Point.Version != current.Point.Version {
				return nil, durable.ErrFenced
			}
			select {
			case b.m.writer <- struct{}{}: // without a look at ctx, as a file system does
			case <-time.After(5 * time.Second):
				return nil, errors.New("the lock is taken")
			}
			b.tx = &memoryTx[obj]{c: b.memoryCopy, rows: map[string]Row{}}
			return b.tx, nil
		}
	}},
	{"changes are made in the wrong order", "WriteOrder", func(b *bent) {
		b.write = func(ctx context.Context, tx durable.Tx[obj], changes []durable.Change[obj]) error {
			changes = slices.Clone(changes)
			slices.Reverse(changes)
			return tx.Write(ctx, changes)
		}
	}},
	{"deletions come before Puts", "WriteOrder", func(b *bent) {
		b.write = func(ctx context.Context, tx durable.Tx[obj], changes []durable.Change[obj]) error {
			changes = slices.Clone(changes)
			slices.SortStableFunc(changes, func(a, b durable.Change[obj]) int { return int(b.Op) - int(a.Op) })
			return tx.Write(ctx, changes)
		}
	}},
	{"a row of another UID stays", "WriteOrder", eachChange(func(b *bent, c durable.Change[obj]) (durable.Change[obj], bool) {
		metas, _ := b.memoryCopy.Held(context.Background(), []string{c.Meta.Key})
		return c, c.Op != durable.Put || !object.DifferentUID(metas[0].UID, c.Meta.UID)
	})},
	{"a row never goes back to an older version", "WriteOrder", eachChange(func(b *bent, c durable.Change[obj]) (durable.Change[obj], bool) {
		metas, _ := b.memoryCopy.Held(context.Background(), []string{c.Meta.Key})
		return c, c.Op != durable.Put || metas[0].Key == "" || !object.Older(c.Meta.ResourceVersion, metas[0].ResourceVersion)
	})},
	{"a row is deleted by UID", "WriteOrder", deletedIf(func(row, change object.Meta) bool { return row.UID == change.UID })},
	{"a row is deleted by version", "WriteOrder", deletedIf(func(row, change object.Meta) bool {
		return row.ResourceVersion == change.ResourceVersion
	})},
	{"the deletion of no row fails", "WriteOrder", func(b *bent) {
		b.write = func(ctx context.Context, tx durable.Tx[obj], changes []durable.Change[obj]) error {
			for _, c := range changes {
				if metas, _ := b.memoryCopy.Held(ctx, []string{c.Meta.Key}); len(changes) == 1 && c.Op != durable.Put && metas[0].Key == "" {
					return errors.New("no row was changed")
				}
			}
			return tx.Write(ctx, changes)
		}
	}},
	{"deleted is ignored", "WriteOrder", without(durable.Deleted)},
	{"inferred is ignored", "WriteOrder", without(durable.Inferred)},
	{"unselected is ignored", "WriteOrder", without(durable.Unselected)},
	{"a row has the object's version", "MetaIsTheRows", eachChange(func(_ *bent, c durable.Change[obj]) (durable.Change[obj], bool) {
		if c.Object != nil {
			c.Meta.ResourceVersion = c.Object.GetResourceVersion()
		}
		return c, true
	})},
	{"Write keeps the slice", "WriteKeepsNoSlice", func(b *bent) {
		var kept []durable.Change[obj]
		b.write = func(_ context.Context, _ durable.Tx[obj], changes []durable.Change[obj]) error {
			kept = changes
			return nil
		}
		b.commit = func(ctx context.Context, tx durable.Tx[obj], next durable.State) error {
			_ = tx.Write(ctx, kept)
			return tx.Commit(ctx, next)
		}
	}},
	{"keys lose case", "OddKeys", renamed(strings.ToLower)},
	{"keys lose spaces", "OddKeys", renamed(strings.TrimSpace)},
	{"keys are cut", "OddKeys", renamed(func(key string) string { return key[:min(len(key), 255)] })},
	{"a key is a pattern", "OddKeys", func(b *bent) {
		b.write = func(ctx context.Context, tx durable.Tx[obj], changes []durable.Change[obj]) error {
			all, err := b.memoryCopy.Keys(ctx, "", 10000)
			for _, c := range changes {
				for _, key := range all {
					if c.Op != durable.Put && strings.HasSuffix(c.Meta.Key, "%") && strings.HasPrefix(key, strings.TrimSuffix(c.Meta.Key, "%")) {
						c.Meta.Key = key
						err = errors.Join(err, tx.Write(ctx, []durable.Change[obj]{c}))
					}
				}
			}
			return errors.Join(err, tx.Write(ctx, changes))
		}
	}},
	{"keys are in the order of words", "KeysInPages", sortedBy(strings.ToLower)},
	{"keys are in the order of UTF-16", "KeysInPages", sortedBy(func(key string) string {
		var text strings.Builder
		for _, unit := range utf16.Encode([]rune(key)) {
			text.Write([]byte{byte(unit >> 8), byte(unit)})
		}
		return text.String()
	})},
	{"Keys begins with the last key again", "KeysInPages", func(b *bent) {
		b.keys = func(ctx context.Context, after string, limit int) ([]string, error) {
			keys, err := b.memoryCopy.Keys(ctx, after, limit)
			if metas, _ := b.memoryCopy.Held(ctx, []string{after}); metas[0].Key != "" && len(keys) > 0 {
				keys = append([]string{after}, keys...)[:min(limit, len(keys)+1)]
			}
			return keys, err
		}
	}},
	{"Keys has no limit", "KeysInPages", func(b *bent) {
		b.keys = func(ctx context.Context, after string, _ int) ([]string, error) {
			return b.memoryCopy.Keys(ctx, after, 1<<30)
		}
	}},
	{"Keys needs a row to begin after", "KeysInPages", func(b *bent) {
		b.keys = func(ctx context.Context, after string, limit int) ([]string, error) {
			if metas, _ := b.memoryCopy.Held(ctx, []string{after}); after != "" && metas[0].Key == "" {
				return nil, nil
			}
			return b.memoryCopy.Keys(ctx, after, limit)
		}
	}},
	{"Held is in the order of rows", "HeldInOrder", heldOf(func(keys []string) []string { return slices.Sorted(slices.Values(keys)) })},
	{"Held tells each row once", "HeldInOrder", func(b *bent) {
		b.held = func(ctx context.Context, keys []string) ([]object.Meta, error) {
			metas, err := b.memoryCopy.Held(ctx, keys)
			for i := range metas {
				if slices.Contains(keys[:i], keys[i]) {
					metas[i] = object.Meta{}
				}
			}
			return metas, err
		}
	}},
	{"Held tells rows only", "HeldInOrder", func(b *bent) {
		b.held = func(ctx context.Context, keys []string) ([]object.Meta, error) {
			metas, err := b.memoryCopy.Held(ctx, keys)
			return slices.DeleteFunc(metas, func(m object.Meta) bool { return m.Key == "" }), err
		}
	}},
	{"a key that is no UTF-8 is an error", "HeldInOrder", func(b *bent) {
		b.held = func(ctx context.Context, keys []string) ([]object.Meta, error) {
			if !utf8.ValidString(strings.Join(keys, "")) {
				return nil, errors.New("invalid byte sequence")
			}
			return b.memoryCopy.Held(ctx, keys)
		}
	}},
	{"a statement has 999 parameters", "Many", func(b *bent) {
		b.held = func(ctx context.Context, keys []string) ([]object.Meta, error) {
			if len(keys) > 999 {
				return nil, errors.New("too many parameters")
			}
			return b.memoryCopy.Held(ctx, keys)
		}
	}},
	{"Held sees what is committed", "ReadsOwnWrites", func(b *bent) {
		b.held = func(ctx context.Context, keys []string) ([]object.Meta, error) {
			return (&memoryCopy[obj]{m: b.m}).Held(ctx, keys)
		}
	}},
	{"Keys sees what is committed", "ReadsOwnWrites", func(b *bent) {
		b.keys = func(ctx context.Context, after string, limit int) ([]string, error) {
			return (&memoryCopy[obj]{m: b.m}).Keys(ctx, after, limit)
		}
	}},
	{"lists are not transactions", "ReadsOwnWrites", writeThrough(func(list bool) bool { return list })},
	{"events are not transactions", "ReadsOwnWrites", writeThrough(func(list bool) bool { return !list })},
	{"Rollback keeps rows", "Rollback", func(b *bent) {
		b.rollback = func(tx durable.Tx[obj]) error { return tx.Commit(context.Background(), b.m.State()) }
	}},
	{"Rollback leaves the transaction open", "Rollback", func(b *bent) { b.rollback = func(durable.Tx[obj]) error { return nil } }},
	{"Load leaves the transaction open", "LoadRollsBack", func(b *bent) {
		b.load = func(context.Context) (durable.State, error) { return b.m.State(), nil }
	}},
	{"Load commits the transaction", "LoadRollsBack", func(b *bent) {
		b.load = func(ctx context.Context) (durable.State, error) {
			if b.tx != nil {
				_ = b.tx.Commit(ctx, b.m.State())
			}
			return b.memoryCopy.Load(ctx)
		}
	}},
	{"Load leaves a transaction open that has written nothing", "LoadRollsBack", func(b *bent) {
		b.load = func(ctx context.Context) (durable.State, error) {
			if b.tx != nil && len(b.tx.rows) == 0 {
				return b.m.State(), nil
			}
			return b.memoryCopy.Load(ctx)
		}
	}},
	{"a lock stays behind", "KillRollsBack", func(b *bent) { b.kill = func() {} }},
	{"a lock stays behind if nothing was written", "KillRollsBack", func(b *bent) {
		b.kill = func() {
			if b.tx == nil || len(b.tx.rows) > 0 {
				b.memoryCopy.rollback()
			}
		}
	}},
	{"a commit can be seen row by row", "CommitIsAtomic", func(b *bent) {
		b.commit = func(ctx context.Context, tx durable.Tx[obj], next durable.State) error {
			for key, row := range b.tx.rows {
				b.m.mu.Lock()
				b.m.rows[key] = row
				b.m.mu.Unlock()
				b.awaitReader()
			}
			return tx.Commit(ctx, next)
		}
	}},
	{"a commit that fails leaves rows", "ContextEnds", func(b *bent) {
		b.commit = func(ctx context.Context, tx durable.Tx[obj], next durable.State) error {
			b.m.mu.Lock()
			b.tx.apply(b.m.rows)
			b.m.mu.Unlock()
			return tx.Commit(ctx, next)
		}
	}},
	{"a Copy is unusable after an error", "ContextEnds", func(b *bent) {
		b.load = func(ctx context.Context) (durable.State, error) {
			if b.tx != nil {
				return durable.State{}, errors.New("a transaction is open")
			}
			return b.memoryCopy.Load(ctx)
		}
	}},
	{"numbers are floats", "Objects", rewritten(func(text []byte) []byte {
		var v any
		_ = json.Unmarshal(text, &v)
		return []byte(asJSON(v))
	})},
	{"nulls are lost", "Objects", rewritten(func(text []byte) []byte { return bytes.ReplaceAll(text, []byte("null,"), nil) })},
	{"text is ASCII", "Objects", rewritten(func(text []byte) []byte { return bytes.ReplaceAll(text, []byte("日"), []byte("?")) })},
	{"objects have a megabyte", "BigObjects", eachChange(func(_ *bent, c durable.Change[obj]) (durable.Change[obj], bool) {
		return c, len(asJSON(c.Object)) < 1<<20
	})},
}

func TestMutants(t *testing.T) {
	patience = 100 * time.Millisecond
	defer func() { patience = time.Minute }()
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			failures := failuresOf(t, m.check, func(testing.TB) Place[obj] {
				memory := newMemory[obj]()
				read := make(chan struct{}, 1)
				rows := func() []Row {
					defer func() {
						select {
						case read <- struct{}{}:
						default:
						}
					}()
					return memory.Rows()
				}
				return Place[obj]{Rows: rows, Open: func() (durable.Copy[obj], func()) {
					c := &memoryCopy[obj]{m: memory}
					b := &bent{memoryCopy: c, kill: c.rollback, read: read}
					m.bend(b)
					return b, b.kill
				}}
			})
			if len(failures) == 0 {
				t.Errorf("%s does not notice", m.check)
			}
			t.Log(failures)
		})
	}
}

// Every check is of some use: it notices a mutant.
func TestEveryCheckHasAMutant(t *testing.T) {
	for _, c := range checks[obj]() {
		if !slices.ContainsFunc(mutants, func(m struct {
			name, check string
			bend        func(*bent)
		},
		) bool {
			return m.check == c.name
		}) {
			t.Errorf("no mutant for %s", c.name)
		}
	}
}
