package prototree

// run is the values of one field that stand in a row, as whoever writes a repeated field
// writes all of them: so it is known how many there are before the first is read.
type run struct {
	bytes []byte // with the tags and the lengths
	first value
	rest  []byte // of bytes, after the first
	len   int
}

// runOf returns the run at the start of b, and what follows it. The first value has been
// taken off: tag stood before it, and after comes behind it.
func runOf(b, after []byte, tag uint64, first value) (r run, rest []byte) {
	n, rest := 1, after
	for len(rest) > 0 {
		following, _, behind, ok := next(rest)
		if !ok || following != tag {
			break // whatever it is, it is not of this run
		}
		n++
		rest = behind
	}
	end := len(b) - len(rest)
	return run{bytes: b[:end:end], first: first, rest: after[:len(after)-len(rest)], len: n}, rest
}

// each visits the values in order, until visit returns false, which each then does too.
func (r run) each(visit func(in value) bool) bool {
	in, rest := r.first, r.rest
	for {
		if !visit(in) {
			return false
		}
		if len(rest) == 0 {
			return true
		}
		_, in, rest, _ = next(rest) // runOf has found it to be well-formed
	}
}
