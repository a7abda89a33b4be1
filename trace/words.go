package trace

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// words is what stands on a line after its first word.
type words struct {
	plain   []string          // words and "strings", in order, the latter unquoted
	options map[string]string // name=value and name="value"
	json    jsontext.Value    // {...}, at most one
}

// parseWords splits text at single spaces. Only the options named are accepted.
func parseWords(text string, options ...string) (words, error) {
	w := words{options: map[string]string{}}
	for rest := text; rest != ""; {
		var err error
		if rest, err = w.next(rest, options); err != nil {
			return words{}, err
		}
		if rest == "" {
			break
		}
		if rest[0] != ' ' || len(rest) == 1 || rest[1] == ' ' {
			return words{}, fmt.Errorf("want one space between words and none at the end, before %q", rest)
		}
		rest = rest[1:]
	}
	return w, nil
}

// next takes one word off text.
func (w *words) next(text string, options []string) (rest string, err error) {
	if text[0] == '{' {
		if w.json != nil {
			return "", fmt.Errorf("a second JSON object: %s", text)
		}
		w.json, rest, err = cutJSON(text)
		return rest, err
	}
	name := text[:len(text)-len(strings.TrimLeft(text, "abcdefghijklmnopqrstuvwxyz-"))]
	value, isOption := strings.CutPrefix(text[len(name):], "=")
	if !isOption || name == "" {
		name, value = "", text
	}
	value, rest, err = cutWord(value)
	if err != nil {
		return "", err
	}
	if name == "" {
		w.plain = append(w.plain, value)
		return rest, nil
	}
	if !slices.Contains(options, name) {
		return "", fmt.Errorf("unknown option %q", name)
	}
	if _, twice := w.options[name]; twice {
		return "", fmt.Errorf("option %q occurs twice", name)
	}
	w.options[name] = value
	return rest, nil
}

// cutWord takes a "string" or whatever comes before the next space.
func cutWord(text string) (word, rest string, err error) {
	if text == "" || text[0] != '"' && text[0] != '`' {
		word, _, _ = strings.Cut(text, " ")
		return word, text[len(word):], nil
	}
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil {
		return "", "", fmt.Errorf("%s: not a string in quotes", text)
	}
	word, err = strconv.Unquote(quoted)
	return word, text[len(quoted):], err
}

func cutJSON(text string) (value jsontext.Value, rest string, err error) {
	dec := jsontext.NewDecoder(strings.NewReader(text))
	value, err = dec.ReadValue()
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", text, err)
	}
	return value.Clone(), text[dec.InputOffset():], nil
}

// count checks how many plain words there are.
func (w *words) count(n int, want string) error {
	if len(w.plain) != n {
		return fmt.Errorf("want %s", want)
	}
	return nil
}

// noJSON is for the lines that have no use for an object.
func (w *words) noJSON() error {
	if w.json != nil {
		return fmt.Errorf("a JSON object has no meaning here: %s", w.json)
	}
	return nil
}
