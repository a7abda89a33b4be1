package wire

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// members returns in one line what Members finds.
func members(text string) string {
	var found []string
	for m := MembersOf([]byte(text)); m.Next(); {
		found = append(found, fmt.Sprintf("%s=%s@%d:%d", m.Name, m.Value, m.Start, m.End))
	}
	return strings.Join(found, " ")
}

func TestMembers(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                                   ``,
		` { } `:                                ``,
		`[]`:                                   ``,
		`{"a":1}`:                              `a=1@1:6`,
		`{"a":{"b":[1]},"c":"d"}`:              `a={"b":[1]}@1:14 c="d"@15:22`,
		" {\n\t\"a\" : true ,\r\"b\": null } ": `a=true@4:14 b=null@17:26`,
		`[1, "a" ,{}]`:                         `=1@1:2 ="a"@4:7 ={}@9:11`,
		`{"\u0061\n":1}`:                       "a\n=1@1:13",
		`{"a":1,}`:                             `a=1@1:6`,
		`{"a":1 "b":2}`:                        `a=1@1:6`,
		`{"a":1,"b"`:                           `a=1@1:6`,
		`{"a":[1,2`:                            ``,
		`{"a":`:                                ``,
		`{"a"`:                                 ``,
		`{a:1}`:                                ``,
		`"x"`:                                  ``,
		``:                                     ``,
	} {
		if got := members(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// In JSON, Members finds the members that package json finds. If the bytes are
// not JSON, Members ends.
func FuzzMembers(f *testing.F) {
	f.Add([]byte(`{"a":1, "b" : [ {} ],"\u00e9":"x"}`))
	f.Add([]byte(`[1,[2],"3"]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		count := 0
		for m := MembersOf(data); m.Next(); {
			if count++; count > len(data) {
				t.Fatal("more members than bytes")
			}
		}
		lenient := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
		if !jsontext.Value(data).IsValid(lenient...) {
			return
		}
		dec := jsontext.NewDecoder(bytes.NewReader(data), lenient...)
		kind := dec.PeekKind()
		m := MembersOf(data)
		if kind == '{' || kind == '[' {
			_, _ = dec.ReadToken()
			for dec.PeekKind() != '}' && dec.PeekKind() != ']' {
				name := ""
				if kind == '{' {
					token, _ := dec.ReadToken()
					name = token.String()
				}
				value, _ := dec.ReadValue()
				if !m.Next() {
					t.Fatalf("%q: no %q", data, name)
				}
				if string(bytes.ToValidUTF8(m.Name, []byte("?"))) != string(bytes.ToValidUTF8([]byte(name), []byte("?"))) && !bytes.ContainsRune([]byte(name), '�') {
					t.Fatalf("%q: name %q, want %q", data, m.Name, name)
				}
				if !bytes.Equal(m.Value, value) {
					t.Fatalf("%q: value %s, want %s", data, m.Value, value)
				}
			}
		}
		if m.Next() {
			t.Fatalf("%q: one more, %q", data, m.Value)
		}
	})
}
