package yaml_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/relist-go/relist/internal/yaml"
)

// accepted are documents that have to be read, each with the meaning that
// sigs.k8s.io/yaml gives it.
var accepted = []string{
	// Nothing, and scalars.
	"", "\n", "# comment", "---", "--- a", "%YAML 1.1\n---\na: b", "a", "'a'", `"a"`, "~", "null", "7", "\ufeffa: b", "a: b\n...\nc: [", "a: b\n---\nc: d",
	"a: yes\nb: No\nc: TRUE\nd: off\ne: ~\nf:\ng: null\nh: nothing\ni: truE",
	"a: 1\nb: -1\nc: +1\nd: 0x1f\ne: 010\nf: 1_000\ng: 1.5\nh: 1e3\ni: -.5\nj: 9223372036854775808\nk: 0b11\nl: 0o7\nm: 1.\nN1: 1.2.3\no: 10.0.0.1\np: 1e400\nq: 12e\nr: '1'",
	"a: 2026-11-20\nb: 2026-11-20T11:18:00Z\nc: 12:30:45\nd: 1:2",
	// Block collections.
	"a: b\nc: d\n", "a:\n  b: c\n  d:\n    e: f\ng: h", "- a\n- b", "-\n  a\n-\n- b", "- - a\n  - b\n- c", "- a: b\n  c: d\n- e: f", "a:\n- b\n- c\nd: e", "a:\n  - b\n  -\n    c: d\ne:\n",
	"- a:\n  - b\n  c: d", "-   a: b\n    c: d", "a :  b", "a: b # comment\n# comment\nc: d\n  # comment\n", "a: b#c", "a:\n\n\n  b", "a: -b\nc: ?d\ne: :f\ng: -1", "-a: b\n?b: c",
	"\"a b\": c\n'd': e\n\"f\" : g", "a: {}\nb: []\nc: ''", "a: b: c"[:4], "a:\tb\nc: \td\t", "- a\n\n\n- b\n", "a: 1\na: 2", "a:\r\n  b: c\r\n- "[:11],
	// Plain scalars.
	"a: b c  d \ne: f", "a: b\n  c\n\n  d\ne: f", "a: https://[::1]:6443/x?y=z#f", "a: b\n  - c", "a\nb\n\nc", "a: it's \"so\" [x] {y}, z & * ! | > %@`", "a: b\n # comment\nc: d", "- a\n  b",
	// Quotes.
	`a: "\"\\\a\b\t\n\v\f\r\e\0\x41\u00e9\U0001f600\_\N\L\P\ "`, "a: 'it''s'", "a: \"b\n  c\n\n  d \\\n  e\"", "a: 'b\n  c\n\n  d '", "a: \"\"", "a: 'b' # c", "a: \"b \\\n\n  c\"", "a: \"  b\n  c  \"",
	// Block scalars.
	"a: |\n  b\n  c\nd: e", "a: |-\n  b\n\n", "a: |+\n  b\n\n\nc: d", "a: >\n  b\n  c\n\n  d\n    e\n  f\n", "a: |\n    b\n   \n     c\nd: e", "a: |2\n    b\n  c\n", "a: |\n\n\n  b\n", "a: >-\n\n  b\n  c\n\n\n", "- |\n b\n- >\n c\n",
	"a: | # comment\n  b # no comment\n", "a: |\nb: c", "a: >+\n\n", "|\n a\n b", "a: |1-\n  b\n", "a:\n  - |\n    b\n  - c\n", "a: >\n  b\n   c\n   d\n  e\n", "a: >\n\n   b\n\n  \n   c\n",
	// Flow collections.
	"{}", "[]", "{a: b, c: [d, e], f: {g: h}}", "[a, b, ]", "{a: b, }", "{a, b: }", "[a: b, c]", `{"a":1,"b":[true,null,"x"],"c":{"d":-1.5e3}}`, "{\n  \"a\": \"b\",\n\n  # comment\n  \"c\": [\n1,\n2 ]\n}", "a: {b: c,\n  d: e}\nf: g",
	"[a b, c\n  d]", "{a: https://x/y, b: c}", "[[], [[]], {}]", "{a: 'b', \"c\": \"d\"}", "{a : b}", "[-1, - 1]"[:4] + "]", "- [a]\n- {b: c}", "{a: }", "[a, b]: c"[:6], "{a: [\n]}", "[!!str 1, 'x']", "[a ,b]",
	// Anchors, aliases, tags, merge keys.
	"a: &x b\nc: *x", "a: &x {b: c}\nd: *x\ne: [*x, *x]", "a: &x\n  b: c\nd:\n  <<: *x\n  e: f", "a: &x {b: 1, c: 2}\nd: {<<: *x, b: 3}", "a: &x {b: 1}\nc: &y {b: 2, d: 3}\ne:\n  <<: [*x, *y]\n", "a: &x\nb: *x", "&x a: b\nc: d", "- &x a\n- *x",
	"a: !!str 7\nb: !!str yes\nc: ! 7\nd: !!int 7\ne: !!bool yes\nf: !!map {}\ng: !!seq []\nh: !!null ~\ni: !!str", "a: !!str &x 7\nb: *x", "a: &x 1\nb: &x 2\nc: *x",
}

func TestAccepted(t *testing.T) {
	for _, document := range accepted {
		n, err := yaml.Parse([]byte(document))
		if err != nil {
			t.Errorf("%q: %v", document, err)
			continue
		}
		got, err := n.JSON()
		if err != nil {
			t.Errorf("%q: %v", document, err)
			continue
		}
		want, err := sigsyaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Errorf("%q: the other says %v", document, err)
			continue
		}
		if diff := cmp.Diff(meaning(t, want), meaning(t, got)); diff != "" {
			t.Errorf("%q (-other +ours)\n%s", document, diff)
		}
	}
}

// refused are documents that mean nothing, or what is not supported.
var refused = []string{
	"a: b: c", "a: b\n  c: d", "a: - b", "a:\n  b: c\n d: e", "- a\nb", "- a\n b: c\n- d\n  - e: f\n g", "a\nb: c", "a: 'b' c", "a: \"b\" c", "a: [b] c", "a: {b: c", "[a", "[a b: c: d", "{a: b]", "[a}", "]", "}", ",", "a: ]", "a: ,",
	"a: @b", "a: `b", "a: %b", "a: 'b", "a: \"b", `a: "\q"`, `a: "\u12"`, `a: "\ud800"`, `a: "\UFFFFFFFF"`, "a:\n\tb: c", "\ta: b", "a: *b", "a: &x [*x]", "a: !b c", "a: !!binary YQ==", "a: !!int x", "a: &", "? a\n: b", "? [a]", "[a]: b", "{[a]: b}", "*x : y",
	"a: |x\n  b", "a: |\n  b\n c", "a: | b\n  c", "a: \x00", "a: \x7f", "a: \xff", "1: a", "yes: a", "~: a", ": a", "%YAML 1.1\na: b", "a: {b: c}: d", `a: "\/"`, "? : a", "- a\n- b\n  c: d", "{a: b\n---\n}", "\"a\n b\": c", "a: <<\n<<: b", "<<: [a]", "a: b\n\"c\n", "\"a\nb\nc: d", "[,]", "{,}", "[a,,b]", "a: !x",
	"&a [&b [*a]]", "&a - b",
	strings.Repeat("[", 2000),
}

func TestRefused(t *testing.T) {
	for _, document := range refused {
		if n, err := yaml.Parse([]byte(document)); err == nil {
			text, _ := n.JSON()
			t.Errorf("%q: read as %s", document, text)
		} else if !strings.HasPrefix(err.Error(), "yaml: line ") {
			t.Errorf("%q: %v", document, err)
		}
	}
}

// A few lines that stand for billions of values are refused at once.
func TestAliasesAreBounded(t *testing.T) {
	var document strings.Builder
	document.WriteString("a: &a [x,x,x,x,x,x,x,x,x,x]\n")
	for c := 'b'; c <= 'k'; c++ {
		before := "*" + string(c-1)
		document.WriteString(string(c) + ": &" + string(c) + " [" + strings.Repeat(before+",", 9) + before + "]\n")
	}
	if _, err := yaml.Parse([]byte(document.String())); err == nil || !strings.Contains(err.Error(), "stand for too much") {
		t.Error(err)
	}
}

func TestLine(t *testing.T) {
	_, err := yaml.Parse([]byte("a: b\nc:\n  d: @e\n"))
	if want := "yaml: line 3: found character that cannot start any token"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
