package storetest

// step is one call, and what the store holds afterwards. When the call fails it must hold what it held before.
type step struct {
	do    func(Store) error
	fails bool
	holds []*Object
	rv    string
}

func add(obj *Object) func(Store) error    { return func(s Store) error { return s.Add(obj) } }
func update(obj *Object) func(Store) error { return func(s Store) error { return s.Update(obj) } }
func remove(obj *Object) func(Store) error { return func(s Store) error { return s.Delete(obj) } }
func replace(rv string, items ...*Object) func(Store) error {
	return func(s Store) error { return s.Replace(items, rv) }
}

var (
	a1     = New("ns", "a", "1", "red")
	a2     = New("ns", "a", "2", "blue", "red", "red")
	b3     = New("ns", "b", "3", "blue")
	c4     = New("", "c", "4")
	c5     = New("", "c", "5", "red")
	noName = New("ns", "", "9")
	noRV   = New("ns", "d", "")
)

var cases = []struct {
	name  string
	steps []step
}{
	{"empty", []step{
		{do: Store.Resync},
		{do: remove(a1), rv: "1"},
	}},
	{"write", []step{
		{do: add(a1), holds: []*Object{a1}, rv: "1"},
		{do: add(b3), holds: []*Object{a1, b3}, rv: "3"},
		{do: update(a2), holds: []*Object{a2, b3}, rv: "3"}, // never moves back
		{do: update(c4), holds: []*Object{a2, b3, c4}, rv: "4"},
		{do: add(c5), holds: []*Object{a2, b3, c5}, rv: "5"},
		{do: remove(a1), holds: []*Object{b3, c5}, rv: "5"}, // by key, whatever the version
		{do: remove(a1), holds: []*Object{b3, c5}, rv: "5"},
		{do: Store.Resync, holds: []*Object{b3, c5}, rv: "5"},
		{do: add(noRV), holds: []*Object{b3, c5, noRV}, rv: "5"},
	}},
	{"replace", []step{
		{do: replace("10", a1, b3), holds: []*Object{a1, b3}, rv: "10"},
		{do: replace("11", c5, a2), holds: []*Object{a2, c5}, rv: "11"},
		{do: replace("9", b3), holds: []*Object{b3}, rv: "11"},
		{do: replace("", a1), holds: []*Object{a1}, rv: "11"},
		{do: replace("0", a1, b3, a2), holds: []*Object{a2, b3}, rv: "11"}, // the last of two wins
		{do: replace("100"), rv: "100"},
	}},
	{"nothing half written", []step{
		{do: replace("10", a1, b3), holds: []*Object{a1, b3}, rv: "10"},
		{do: replace("20", c4, noName), fails: true, rv: "10"},
		{do: add(noName), fails: true, rv: "10"},
		{do: update(noName), fails: true, rv: "10"},
		{do: remove(noName), fails: true, rv: "10"},
	}},
}
