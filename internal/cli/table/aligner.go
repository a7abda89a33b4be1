// Package table aligns the rows of a table for people.
package table

import (
	"strings"
	"unicode/utf8"
)

// Aligner aligns the rows of a table. Its columns only grow, so rows may come one after the other.
type Aligner struct{ widths []int }

// Fit makes the columns wide enough for rows.
func (a *Aligner) Fit(rows ...[]string) {
	for _, row := range rows {
		for i, cell := range row {
			if i == len(a.widths) {
				a.widths = append(a.widths, 0)
			}
			a.widths[i] = max(a.widths[i], utf8.RuneCountInString(cell))
		}
	}
}

// Line returns a row as a line, without a line break and without spaces at its end.
func (a *Aligner) Line(row []string) string {
	a.Fit(row)
	var b strings.Builder
	for i, cell := range row {
		b.WriteString(cell)
		if i < len(row)-1 {
			b.WriteString(strings.Repeat(" ", a.widths[i]-utf8.RuneCountInString(cell)+3))
		}
	}
	return strings.TrimRight(b.String(), " ")
}
