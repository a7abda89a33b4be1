package apitest

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// query reads the parameters of a fault. It remembers the first error.
type query struct {
	url.Values
	err error
}

// parse reads a query. It returns an error for a parameter that is not in the example of the switch, because otherwise
// nobody would notice that a name is misspelt.
func (f faultSwitch) parse(raw string) (query, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return query{}, fmt.Errorf("the parameters of %s: %w", f.name, err)
	}
	known, err := url.ParseQuery(strings.TrimPrefix(f.query, "?"))
	if err != nil {
		// unreachable: the examples are constants, and a test sends each of them.
		panic("apitest: " + err.Error())
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch {
		case len(known) == 0:
			return query{}, fmt.Errorf("%s has no parameters, and so no %q", f.name, name)
		case !known.Has(name):
			return query{}, fmt.Errorf("%s has no parameter %q: want %s", f.name, name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		case len(values[name]) > 1:
			return query{}, fmt.Errorf("%s is given more than once", name)
		}
	}
	return query{Values: values}, nil
}

func (q *query) number(name string, absent int) int {
	return read(q, name, absent, "a whole number, 0 or more", strconv.Atoi, func(n int) bool { return n >= 0 })
}

func (q *query) flag(name string, absent bool) bool {
	return read(q, name, absent, "true or false", strconv.ParseBool, nil)
}

func (q *query) duration(name string, absent time.Duration) time.Duration {
	return read(q, name, absent, "a duration such as 5s", time.ParseDuration, func(d time.Duration) bool { return d >= 0 })
}

// read returns a parameter as convert returns it, or absent if the query does not have it. If convert returns an error,
// the error of q says which values are accepted.
func read[T any](q *query, name string, absent T, want string, convert func(string) (T, error), accept func(T) bool) T {
	s := q.Get(name)
	if s == "" {
		return absent
	}
	v, err := convert(s)
	if q.err == nil && (err != nil || accept != nil && !accept(v)) {
		q.err = fmt.Errorf("%s=%s: want %s", name, s, want)
	}
	return v
}
