package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/relist-go/relist/cmd/internal/cli/report"
	"github.com/relist-go/relist/cmd/relist-sql/internal/database"
	"github.com/relist-go/relist/internal/visible"
)

// rows prints the result of a query. A slice of cells is valid during the call only.
type rows interface {
	begin(columns []string) error
	row(cells []database.Cell) error
	end() error
}

func newRows(out io.Writer, format string) rows {
	b := bufio.NewWriterSize(out, 64<<10)
	switch format {
	case "csv":
		return &csvRows{out: b}
	case "json":
		return &jsonRows{out: b}
	}
	return &tableRows{out: b}
}

// tableRows prints a table for people. It needs all rows before the first, because they decide how
// wide its columns are.
type tableRows struct {
	out  *bufio.Writer
	rows [][]string
}

func (t *tableRows) begin(columns []string) error {
	row := make([]string, len(columns))
	for i, c := range columns {
		row[i] = strings.ToUpper(visible.OneLine(c))
	}
	t.rows = append(t.rows, row)
	return nil
}

func (t *tableRows) row(cells []database.Cell) error {
	row := make([]string, len(cells))
	for i, c := range cells {
		if row[i] = visible.OneLine(c.Text); c.Kind == database.Null {
			row[i] = "<null>"
		}
	}
	t.rows = append(t.rows, row)
	return nil
}

func (t *tableRows) end() error {
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 3, ' ', 0)
	for _, row := range t.rows {
		_, _ = fmt.Fprintln(w, strings.Join(row, "\t")) // a Builder takes everything
	}
	_ = w.Flush()
	for line := range strings.Lines(table.String()) {
		_, _ = t.out.WriteString(strings.TrimRight(line, " \n") + "\n") // Flush returns the error
	}
	return t.out.Flush()
}

// csvRows prints RFC 4180. It tells NULL and an empty string apart, as the COPY of PostgreSQL does.
type csvRows struct{ out *bufio.Writer }

func (c *csvRows) begin(columns []string) error {
	cells := make([]database.Cell, len(columns))
	for i, name := range columns {
		cells[i] = database.Cell{Kind: database.Text, Text: name}
	}
	return c.row(cells)
}

func (c *csvRows) row(cells []database.Cell) error {
	for i, cell := range cells {
		if i > 0 {
			_ = c.out.WriteByte(',') // the last write returns the error
		}
		text := cell.Text
		if cell.Kind != database.Null && (text == "" || strings.ContainsAny(text, ",\"\r\n")) {
			text = `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
		}
		_, _ = c.out.WriteString(text)
	}
	_, err := c.out.WriteString("\r\n")
	return err
}

func (c *csvRows) end() error { return c.out.Flush() }

// jsonRows prints an object for each row. If two columns have the same name, both are in it.
type jsonRows struct {
	out   *bufio.Writer
	names [][]byte
}

func (j *jsonRows) begin(columns []string) error {
	for _, c := range columns {
		j.names = append(j.names, report.Quoted(c))
	}
	return nil
}

func (j *jsonRows) row(cells []database.Cell) error {
	line := []byte{'{'}
	for i, c := range cells {
		if i > 0 {
			line = append(line, ',')
		}
		line = append(append(line, j.names[i]...), ':')
		switch c.Kind {
		case database.Null:
			line = append(line, "null"...)
		case database.Text:
			line = append(line, report.Quoted(c.Text)...)
		case database.JSON:
			line = append(line, strings.ReplaceAll(c.Text, "\n", " ")...) // only white space: a string has no line break
		case database.Number, database.Bool:
			line = append(line, c.Text...)
		}
	}
	_, err := j.out.Write(append(report.SafeJSON(line), '}', '\n'))
	return err
}

func (j *jsonRows) end() error { return j.out.Flush() }
