package database

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		text string
		bare bool
		want string // what String returns; or "error: " and how the error begins
	}{
		{"sqlite:a.db", false, "sqlite:a.db"},
		{"sqlite:a@b.db", false, "sqlite:a@b.db"},
		{"a@b.db", true, "sqlite:a@b.db"},
		{"sqlite:/x/a:b.db", true, "sqlite:/x/a:b.db"},
		{"a.db", true, "sqlite:a.db"},
		{"a:b.db", true, "sqlite:a:b.db"},
		{"a.db", false, `error: "a.db": want sqlite:FILE or postgres://USER@HOST/DATABASE`},
		{"", true, `error: "": want a file of SQLite or`},
		{"sqlite:", true, `error: "sqlite:": want a file of SQLite or`},
		{"postgres://u:secret@h:1/d", false, "postgres://h:1/d, schema relist"},
		{"postgresql://u:secret@h/d", true, "postgres://h:5432/d, schema relist"},
		{"postgres://u:secret%zz@h/d", false, "postgres://?"},
		{"pg://u:secret@h/d", false, "error: want sqlite:FILE or postgres://USER@HOST/DATABASE (what was given is not shown"},
	} {
		p, err := Parse(tt.text, tt.bare)
		got := p.String()
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != tt.want && (err == nil || !strings.HasPrefix(got, tt.want)) || strings.Contains(got, "secret") {
			t.Errorf("Parse(%q, %v): %q, want %q", tt.text, tt.bare, got, tt.want)
		}
	}
}

// No error shows a password, however the address is written.
func TestSecrets(t *testing.T) {
	for _, text := range []string{
		"postgres://user:12/secret@127.0.0.1/d",
		"postgres://user:12#secret@127.0.0.1/d",
		"postgres://u:secret%zz@h/d",
		"postgres://u:secret@127.0.0.1:1/d",
		"mysql://u:secret@h/d",
		"host=h password=secret",
		"sqlite:postgres://u:secret@h/d",
	} {
		for _, bare := range []bool{true, false} {
			p, err := Parse(text, bare)
			if err == nil {
				_, err = Read(t.Context(), p)
			}
			if err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(p.String(), "secret@") {
				t.Errorf("%s: %s, error %v", text, p, err)
			}
		}
	}
}
