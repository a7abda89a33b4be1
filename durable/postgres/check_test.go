package postgres

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for _, good := range []string{
		`{}`, ` [1, "x", null] `, `{"a":1,"a":2}`, `"\\u0000"`, `"\\\\u0000"`, `"\u0001"`, `"\ud83d\ude00"`, `"😀"`, `{"metadata":{"name":"` + strings.Repeat("x", 1000) + `","x":"` + strings.Repeat("x", 2000) + `"},"spec":{"name":"` + strings.Repeat("x", 2000) + `"}}`, `"\u00e9"`,
		`0`, `-0`, `1e308`, `-1.5E-3`, `1e131071`, `0.1e131072`, `1e-16383`, `0e131072`, `0e99999999`,
		strings.Repeat("9", 131072), "0." + strings.Repeat("1", 16383), strings.Repeat("[", 1000) + strings.Repeat("]", 1000),
	} {
		if err := Check([]byte(good)); err != nil {
			t.Errorf("Check(%.40s) = %v", good, err)
		}
	}
	for bad, want := range map[string]string{
		`"\u0000"`:                `a string has the character \u0000, which PostgreSQL does not store`,
		`{"\u0000":1}`:            `a string has the character \u0000, which PostgreSQL does not store`,
		`"\\\u0000"`:              `a string has the character \u0000, which PostgreSQL does not store`,
		`"x\ud83d"`:               `it is not valid JSON, at byte 2`,
		`"\ude00\ud83d"`:          `it is not valid JSON, at byte 1`,
		"\"\xff\"":                `it is not valid JSON, at byte 1`,
		"\"\xed\xa0\x80\"":        `it is not valid JSON, at byte 1`,
		"\"\x00\"":                `it is not valid JSON, at byte 1`,
		`{"password":"secret" 1}`: `it is not valid JSON, at byte 21`,
		``:                        `it is not valid JSON, at byte 0`,
		`1 2`:                     `it is not valid JSON, at byte 2`,
		`{"metadata": {"x":"` + strings.Repeat("x", 2000) + `", "name" : "` + strings.Repeat("x", 1001) + `"}}`: `its name or namespace has more than 1000 bytes, too many for an index`,
		`NaN`:                       `it is not valid JSON, at byte 0`,
		`[1e131072]`:                `a number has more than 131072 digits before its point, or 16383 after it`,
		`-0.1e131073`:               `a number has more than 131072 digits before its point, or 16383 after it`,
		`1e-16384`:                  `a number has more than 131072 digits before its point, or 16383 after it`,
		`0e-16384`:                  `a number has more than 131072 digits before its point, or 16383 after it`,
		`1e99999999999999999999`:    `a number has more than 131072 digits before its point, or 16383 after it`,
		strings.Repeat("9", 131073): `a number has more than 131072 digits before its point, or 16383 after it`,
		strings.Repeat("[", 1001) + strings.Repeat("]", 1001): `arrays and objects are nested more than 1000 deep`,
		`"` + strings.Repeat("x", maxSize) + `"`:              `it has more than 16 MiB`,
	} {
		if err := Check([]byte(bad)); err == nil || err.Error() != want {
			t.Errorf("Check(%.40q) = %v, want %s", bad, err, want)
		}
	}
}
