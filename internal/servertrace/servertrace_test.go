package servertrace

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/internal/must"
)

func TestParseErrors(t *testing.T) {
	const begin = "# server: apitest\nstart\n"
	for text, want := range map[string]string{
		"":                                "line 1: want the heading",
		"start\n":                         "line 1: want the heading",
		"# server: apitest\r\nstart\r\n":  "line 1: a carriage return",
		"# server: apitest\ncreate a\n":   "line 2: start is the first command",
		"# server: apitest\n= a@2\n":      "line 2: a line of the run must follow",
		begin + "start\n":                 "line 3: start is the first command",
		begin + "\n= a@2\n":               "line 4: a line of the run must follow",
		begin + "sleep long\n":            "line 3: time: invalid duration",
		begin + "> a POST /\n":            `line 3: "> a POST /": want start`,
		begin + "create a {\n":            "line 3: unexpected end of JSON",
		begin + "create a null\n":         "line 3: null is no object",
		begin + "create a {} {}\n":        "line 3: invalid character '{'",
		begin + "create a []\n":           "line 3: json: cannot unmarshal array",
		begin + `create a {"metadata":1}`: "line 3: value cannot be set",
		begin + "sleep 1s\n~1s\n":         "line 4: want < NAME answer",
		begin + "sleep 1s\n< \n":          "line 4: want < NAME answer",
		begin + "create a\n= \n":          "line 4: want < NAME answer",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: error %v\nwant %s", text, err, want)
		}
	}
}

// A request that cannot be sent ends the run.
func TestRequestErrors(t *testing.T) {
	for path, want := range map[string]string{
		"/?continue={b}": "there is no list that continues, and is called {b}",
		"/%zz":           `parse "/%zz": invalid URL escape "%zz"`,
	} {
		f, err := Parse([]byte("# server: apitest\nstart\n> a GET " + path + "\n"))
		if err == nil {
			_, err = Play(f, func(string) (Server, error) { return quiet{}, nil })
		}
		if err == nil || err.Error() != "line 3: > a GET "+path+": "+want {
			t.Errorf("%s: error %v", path, err)
		}
	}
}

// quiet is a server that nothing happens at.
type quiet struct{ Server }

func (quiet) Settle(int, func() int) {}

// What Parse reads it does not change, and it can be compared.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("../../server/testdata/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatal("no traces", err)
	}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(src))
	}
	f.Fuzz(func(t *testing.T, src string) {
		file, err := Parse([]byte(src))
		if err != nil {
			return
		}
		var lines []string
		for _, l := range file.lines {
			lines = append(lines, l.text)
		}
		if got := strings.Join(lines, "\n"); got != strings.TrimSuffix(src, "\n") {
			t.Errorf("Parse(%q) has the lines %q", src, got)
		}
		file.Diff(lines, 0)
	})
}

func TestDiff(t *testing.T) {
	const heading = "# server: apitest\nstart\n"
	const want = heading + "> a GET /x\n< a 200 list rv=2\n\ta@2\nsleep 1m\n~ 10s\n< a eof\n< b ADDED c@3\n~ 2s\n< b eof\ncreate d\n= d@4\n"
	f, err := Parse([]byte(want))
	must.OK(t, err)
	for name, test := range map[string]struct {
		old, by string
		slack   time.Duration
		differs bool
	}{
		"the same":               {"", "", 0, false},
		"a quarter early":        {"~ 10s", "~ 7.5s", 0, false},
		"a quarter late":         {"~ 10s", "~ 12.5s", 0, false},
		"early":                  {"~ 10s", "~ 7.4s", 0, true},
		"late":                   {"~ 10s", "~ 12.6s", 0, true},
		"late, and in the slack": {"~ 10s", "~ 13s", time.Second, false},
		"later than the slack":   {"~ 10s", "~ 13.6s", time.Second, true},
		"other requests first":   {"< a eof\n< b ADDED c@3\n", "< b ADDED c@3\n< a eof\n", 0, false},
		"its own end first":      {"< b ADDED c@3\n~ 2s\n< b eof\n", "~ 2s\n< b eof\n< b ADDED c@3\n", 0, true},
		"missing":                {"< a eof\n", "", 0, true},
		"one more":               {"< a eof\n", "< a eof\n< a eof\n", 0, true},
		"below another line":     {"create d\n= d@4\n", "= d@4\ncreate d\n", 0, true},
		"without its item":       {"\ta@2\n", "", 0, true},
		"another answer":         {"rv=2", "rv=3", 0, true},
	} {
		got := strings.Replace(want, test.old, test.by, 1)
		if diff := f.Diff(strings.Split(strings.TrimSuffix(got, "\n"), "\n"), test.slack); (diff != "") != test.differs {
			t.Errorf("%s: the difference is %q", name, diff)
		}
	}
}

// canned gives every reader the same answer.
type canned struct {
	code int
	body string
}

func (c canned) Read(*http.Request) (*http.Response, error) {
	if c.code == 0 {
		return nil, errors.New("no\nroute")
	}
	return &http.Response{StatusCode: c.code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(c.body))}, nil
}

func (canned) Write(Write) (string, error) { return "2", nil }
func (canned) Fault(string) error          { return nil }
func (canned) Settle(int, func() int)      { synctest.Wait() }

// The line of an answer says what was sent, and a server that contradicts itself is cut off.
func TestAnswers(t *testing.T) {
	const expired = `{"kind":"Status","code":410,"reason":"Expired","message":"gone"}`
	for _, test := range []struct {
		path   string
		answer canned
		want   string
	}{
		{"/x", canned{200, `{"kind":"PodList","metadata":{"resourceVersion":"7"}}`}, "< a 200 list rv=7"},
		{"/x", canned{410, expired}, `< a 410 Expired "gone"`},
		{"/x", canned{500, expired}, "< a cut: 500 with a Status of code 410"},
		{"/x", canned{200, expired}, "< a cut: 200 with a Status of code 410"},
		{"/x", canned{200, "{}"}, "< a cut: 200 with a body without a kind of code 0"},
		{"/x", canned{}, "< a cut: no route"},
		{"/x?watch=true", canned{200, "{\n"}, "< a 200 watch\n< a cut: unexpected end of JSON input"},
		{"/x?watch=true", canned{200, `{"type":"ERROR","object":` + expired + "}\n"}, "< a 200 watch\n< a ERROR 410 Expired \"gone\"\n< a eof"},
		{"/%x", canned{}, `line 3: > a GET /%x: parse "/%x": invalid URL escape "%x"`},
	} {
		synctest.Test(t, func(t *testing.T) {
			f, err := Parse([]byte("# server: x\nstart\n> a GET " + test.path))
			must.OK(t, err)
			lines, err := Play(f, func(string) (Server, error) { return test.answer, nil })
			got := strings.Join(lines[3:], "\n")
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("%s, %v: %s\nwant %s", test.path, test.answer, got, test.want)
			}
		})
	}
}
