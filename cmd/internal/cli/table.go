package cli

import (
	"strings"
	"unicode/utf8"
)

// TableLines returns the rows of a table as lines with aligned columns, without line breaks and
// without spaces at the end of a line.
func TableLines(rows [][]string) []string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	lines := make([]string, len(rows))
	for n, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+3))
			}
		}
		lines[n] = strings.TrimRight(b.String(), " ")
	}
	return lines
}
