package prototree

// run holds the values of a repeated field that follow each other in the message. Writers
// put all values of a field in a row, so a run usually has all of them. Its length is known
// before the first value is decoded.
type run struct {
	bytes []byte // of all values, with their tags and lengths
	first value
	rest  []byte // the part of bytes after the first value
	len   int
}

// runOf returns the run at the start of b, and the bytes that follow the run. The caller
// has already read the first value with its tag, and passes the bytes behind that value as
// after.
func runOf(b, after []byte, tag uint64, first value) (r run, rest []byte) {
	n, rest := 1, after
	for len(rest) > 0 && rest[0] == b[0] { // otherwise it is another field
		following, _, behind, ok := next(rest)
		if !ok || following != tag {
			break // another field, or malformed: the run ends here
		}
		n++
		rest = behind
	}
	end := len(b) - len(rest)
	return run{bytes: b[:end:end], first: first, rest: after[:len(after)-len(rest)], len: n}, rest
}

// each calls visit for each value, in order. If visit returns false, each stops and returns
// false.
func (r run) each(visit func(in value) bool) bool {
	in, rest := r.first, r.rest
	for {
		if !visit(in) {
			return false
		}
		if len(rest) == 0 {
			return true
		}
		_, in, rest, _ = next(rest) // runOf has read this field without an error
	}
}
