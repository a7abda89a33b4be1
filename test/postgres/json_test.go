package check

import (
	"bytes"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/relist-go/relist/durable/postgres"
)

// FuzzCheck compares Check with the server. Check may refuse what the server takes only if its
// limits of depth and size say so.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` [1, "x", null, true, false] `, `{"a":1,"a":2,"":3}`, `"\\u0000"`, `"\u0000"`, `"\\\u0000"`, `{"\u0000":1}`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ude00\ud83d"`,
		`"\ud83dx"`, `"\ud83d\u0041"`, `"\uFFFF\ufffe"`, "\"\xff\"", "\"\xed\xa0\x80\"", "\"\x00\"", "\"\t\"", `"\x"`, `"\u12"`, "\ufeff{}", "\u00a0{}", "{}\v", "1 2", "", " ",
		`0`, `-0`, `-`, `01`, `1.`, `.1`, `+1`, `1e5`, `1E+5`, `1e`, `NaN`, `Infinity`, `1e131071`, `1e131072`, `0.1e131072`, `0.1e131073`, `0.001e131074`, `0.001e131075`,
		`1e-16383`, `1e-16384`, `1.0e-16382`, `1.0e-16383`, `0e131072`, `0e-16383`, `0e-16384`, `0.0e-16383`, `0e99999999`, `0e1073741822`, `0e1073741823`, `0e-1073741823`, `1e99999999999999999999`,
		`1e-99999999999999999999`, `0e99999999999999999999`, `-123.456e-10`, `12345e131067`, `12345e131068`, "9e131071", "99999e131068", "0.00e-16382", "0001", "1e0001", "1e-0001",
		strings.Repeat("9", 131072), strings.Repeat("9", 131073), "0." + strings.Repeat("1", 16383), "0." + strings.Repeat("1", 16384),
		strings.Repeat("[", 1000) + strings.Repeat("]", 1000), strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000),
		strings.Repeat("[", 999) + `{"a":1}` + strings.Repeat("]", 999),
	} {
		f.Add([]byte(seed))
	}
	conn, err := pgx.Connect(f.Context(), shared.URL("postgres", nil))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = conn.Close(f.Context()) })
	if _, err := conn.Exec(f.Context(), "CREATE TEMPORARY TABLE fuzzed (object jsonb)"); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, object []byte) {
		refused := postgres.Check(object)
		// The text that the server makes of it must be readable again, too.
		_, err := conn.Exec(t.Context(), `INSERT INTO fuzzed VALUES ($1) RETURNING octet_length(object::text)`, object)
		if conn.IsClosed() {
			t.Fatalf("%.200q: %v", object, err)
		}
		switch {
		case refused == nil && err != nil:
			t.Errorf("%.200q: Check accepts it, and the server does not: %v", object, err)
		case refused != nil && err == nil && bytes.Count(object, []byte("["))+bytes.Count(object, []byte("{")) <= 1000 && len(object) <= 16<<20:
			t.Errorf("%.200q: Check refuses it, and the server does not: %v", object, refused)
		}
	})
}
