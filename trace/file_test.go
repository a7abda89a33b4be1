package trace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/internal/target"
)

func TestParseErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"start", "f.txt:1: the last line does not end"},
		{"# a\n\nstart limit=0\n", `f.txt:3: start: limit: "0" is not a number of 1 or more`},
		{"frobnicate\n", `f.txt:1: unknown command "frobnicate"`},
		{"pop 1\n", "pop 1: the first command must be start"},
		{"start\nstart\n", "f.txt:2: start: the program was started above"},
		{"start limit=1 limit=2\n", `option "limit" occurs twice`},
		{"start page=1\n", `unknown option "page"`},
		{"start now\n", `unknown word "now"`},
		{"start coalesce coalesce\n", `"coalesce" occurs twice`},
		{"start {}\n", "a JSON object has no meaning here"},
		{"start \n", "ends with a space"},
		{"start limit=1  coalesce\n", "want one space between words"},
		{"start path=pods\n", `start: "pods" is not the path of a collection`},
		{"start path=/api/v1/pods/\n", "is not the path of a collection"},
		{"start path=/api/v1/nodes/a/pods\n", "is not the path of a collection"},
		{"start path=/apis/apps/deployments\n", "is not the path of a collection"},
		{"start path=/api/v1/namespaces/%zz/pods\n", "is not the path of a collection"},
		{"start verify=0s\n", `start: verify: "0s" is not a time`},
		{"start kind=\n", "a kind cannot be empty"},
		{"start headers=Accept,\n", "a name is empty"},
		{"# server: apitest\n\nstart\n", "this trace is for servers"},
		{"start random=0.5,1\n", `random=0.5,1: "1" is not a number from 0 to below 1`},
		{"start transport=http3\n", "transport=http3: want http1, http2 or websocket"},
		{"start transport=\n", "transport=: want http1, http2 or websocket"},
		{"start encoding=yaml\n", "encoding=yaml: want json or protobuf"},
		{"start\npop\n", "want pop N"},
		{"start\npop 1 2\n", "want pop N"},
		{"start\npop x\n", `"x" is not a number`},
		{"start\nsleep 5\n", `"5" is not a time`},
		{"start\nsleep -1s\n", `"-1s" is not a time`},
		{"start\nwait 1s 2s\n", "want pop N"},
		{"start\nstop now\n", "want pop N"},
		{" start\n", "cannot begin with a space"},
		{"# why\r\nstart\r\n", "f.txt:1: a carriage return"},
		{"start\n< raw `a\rb`\n", "f.txt:2: a carriage return"},
		{"# \xff\nstart\n", "f.txt:1: not UTF-8"},
		{"start\n< raw \"\xff\"\n", "f.txt:2: not UTF-8"},
		{"start\n> GET /\n\n> GET /\n", "f.txt:4: an observed line must follow what caused it directly"},
		{"start\n>GET /\n", "want a space"},
		{"start\n<eof\n", "want a space after <"},
		{"< eof now\n", "eof: nothing can follow"},
		{"< rst 5\n", `rst: "5" is no error code of HTTP/2`},
		{"< goaway\n", `goaway: "" is no error code of HTTP/2`},
		{"< hello\n", "hello: not a line of the server"},
		{"< 2000 list rv=1\n", "not a line of the server"},
		{"< 200 ok\n", "want 200 list, 200 watch or 200 body"},
		{"< 200 list\n", "want list rv=V"},
		{"< 200 list rv=1 retry-after=1\n", "want list rv=V"},
		{"< 200 list rv=1 {\n", "unexpected EOF"},
		{"< 204 - \"\"\n", "a response with that status has no body"},
		{"< 410 Expired\n", `want Reason "message"`},
		{"< 410 Expired \"a\" rv=1\n", "rv and continue belong to a list"},
		{"< 410 Expired \"a\n", "not a string in quotes"},
		{"< 200 body \"a\"\n", `want body "content type" "bytes"`},
		{"< ADDED a\n", "an object needs a version"},
		{"< ADDED @1\n", "an object needs a name"},
		{"< ADDED a/@1\n", "an object needs a name"},
		{"< ADDED a@1 {} {}\n", "a second JSON object"},
		{"< ADDED a@1 split=0\n", "want ascending numbers"},
		{"< ADDED a@1 split=9,9\n", "want ascending numbers"},
		{"< ADDED a@1 split=9999\n", "want ascending numbers"},
		{"< ADDED a@1 b@2\n", "want one object"},
		{"< BOOKMARK 5\n", "want BOOKMARK @V"},
		{"< ERROR 410 Expired\n", `want ERROR code Reason "message"`},
		{"< ERROR x Expired \"a\"\n", "not a status code"},
		{"< raw \"\"\n", "no bytes"},
		{"< raw {}\n", "a JSON object has no meaning here"},
		{"< wire \"a\" split=1\n", "split has no meaning here"},
		{"< 101 now\n", "nothing can follow"},
		{"< hang 1s\n", "nothing can follow"},
		{"< close\n", "want a code"},
		{"< close now\n", "want a code that can be sent"},
		{"< close 1006\n", "want a code that can be sent, from 1000 to 4999: for 1006 write cut"},
		{"< close 5000\n", "want a code that can be sent"},
		{"< close 1000 \"" + strings.Repeat("x", 124) + "\"\n", "a reason has 123 bytes at most"},
		{"< close 1000 {}\n", "a JSON object has no meaning here"},
		{"< close 1000 a b\n", "want a code"},
		{"\ta@1\n", "must stand below a list"},
		{"< 200 list rv=1\n\n\ta@1\n", "f.txt:3: an object must stand below a list"},
		{"< 200 list rv=1\n\ta@1 split=3\n", `unknown option "split"`},
	} {
		_, err := Parse("f.txt", []byte(test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "f.txt:") {
			t.Errorf("%q: error %v\nwant %s", test.text, err, test.want)
		}
	}
}

// FuzzParse holds Parse and Format to being each other's inverse.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("../testdata/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatal("no traces", err)
	}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		file, err := Parse("f.txt", src)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f.txt:") {
				t.Errorf("the error names no line: %v", err)
			}
			return
		}
		if got := format(file); string(got) != string(src) {
			t.Errorf("format(Parse(%q)) = %q", src, got)
		}
	})
}

func TestDiffers(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		"start\n":                       "",
		"# Why.\n":                      "",
		"# differs: backoff\n\nstart\n": "backoff",
		"# Why.\n# differs: backoff\n":  "",
		"# program: x\n# differs: b\n":  "b",
	} {
		f, err := Parse("f.txt", []byte(text))
		must.OK(t, err)
		if got := f.Differs(); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestProgramOfAFile(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "mirror",
		"# program: retrywatcher\n# Why.\n": "retrywatcher",
		"# differs: b\n# program: x\n":      "x",
		"# Why.\n# program: x\n":            "mirror",
		"# program: \nstart\n":              "mirror",
		"start\n# program: x\n":             "mirror",
	} {
		f, err := Parse("f.txt", []byte(text))
		must.OK(t, err)
		if got := f.Program(); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestAFileForAnotherProgramIsNotRun(t *testing.T) {
	f, err := Parse("f.txt", []byte("# program: client-go\nstart\n"))
	must.OK(t, err)
	const want = `f.txt: this trace is for another program: no program here is called "client-go": there are mirror, retrywatcher, retrywatcher-bookmarks`
	if _, err := Replay(f, nil, nil); err == nil || err.Error() != want {
		t.Errorf("Replay = %v, want %s", err, want)
	}
}

func TestFormatDuration(t *testing.T) {
	for _, text := range []string{"1ms", "800ms", "1.6s", "30s", "1m", "5m10s", "1h", "1h0m1s", "2h30m", "100h"} {
		d, err := parseDuration(text)
		must.OK(t, err)
		if got := target.Duration(d); got != text {
			t.Errorf("%v is written %s, want %s", d, got, text)
		}
	}
}
