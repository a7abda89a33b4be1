package trace

import "slices"

// maxEdits is how many differing lines are told apart from equal ones between them. Where there are more, nobody
// compares line by line. What is kept meanwhile grows with its square: 8 MB.
const maxEdits = 1000

// compareLines returns the edits that make want into got: the fewest that there are, or, above maxEdits, what stands
// between the first difference and the last, removed and added.
//
// Source: Eugene W. Myers, An O(ND) Difference Algorithm and Its Variations, http://www.xmailserver.org/diff2.pdf
func compareLines(want, got []string) []edit {
	begin := 0
	for begin < min(len(want), len(got)) && want[begin] == got[begin] {
		begin++
	}
	end := 0
	for end < min(len(want), len(got))-begin && want[len(want)-1-end] == got[len(got)-1-end] {
		end++
	}
	edits := appendEdits(nil, ' ', want[:begin])
	edits = append(edits, fewestEdits(want[begin:len(want)-end], got[begin:len(got)-end])...)
	return appendEdits(edits, ' ', want[len(want)-end:])
}

func appendEdits(edits []edit, op byte, lines []string) []edit {
	for _, text := range lines {
		edits = append(edits, edit{op, text})
	}
	return edits
}

// fewestEdits is compareLines in the words of the paper: a path from (0, 0) to (len(want), len(got)), along x for a line
// that is removed, along y for one that is added, and along both where they are equal. On diagonal k, x-y is k.
func fewestEdits(want, got []string) []edit {
	var reached [][]int // by edits, then diagonal: the furthest x. Diagonal k of d edits is at k+d
	for d := range min(len(want)+len(got), maxEdits) + 1 {
		xs := make([]int, 2*d+1)
		for k := -d; k <= d; k += 2 {
			x := 0
			if d > 0 {
				x, _ = step(reached[d-1], d, k)
			}
			for x < len(want) && x-k < len(got) && want[x] == got[x-k] {
				x++
			}
			xs[k+d] = x
			if x >= len(want) && x-k >= len(got) {
				return walkBack(append(reached, xs), want, got)
			}
		}
		reached = append(reached, xs)
	}
	return appendEdits(appendEdits(nil, '-', want), '+', got)
}

// step returns where the dth edit leads to on diagonal k, before equal lines, and whether it removes a line. The last
// argument but these are the furthest x of d-1 edits.
func step(before []int, d, k int) (x int, removes bool) {
	at := func(k int) int { return before[k+d-1] }
	if k == -d || k < d && at(k-1) < at(k+1) {
		return at(k + 1), false
	}
	return at(k-1) + 1, true
}

// walkBack returns the edits of the path that has come to its end, on the last diagonal that was reached.
func walkBack(reached [][]int, want, got []string) []edit {
	var edits []edit
	x, y := len(want), len(got)
	for d := len(reached) - 1; d >= 0; d-- {
		from, removes := 0, false
		if d > 0 {
			from, removes = step(reached[d-1], d, x-y)
		}
		for ; x > from; x, y = x-1, y-1 {
			edits = append(edits, edit{' ', want[x-1]})
		}
		switch {
		case d == 0: // at the beginning
		case removes:
			x--
			edits = append(edits, edit{'-', want[x]})
		default:
			y--
			edits = append(edits, edit{'+', got[y]})
		}
	}
	slices.Reverse(edits)
	return edits
}
