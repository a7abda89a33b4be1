package transport

import (
	"encoding/base64"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"sigs.k8s.io/yaml"
)

// unmarshalYAML reads YAML as kubectl does: the names of fields count with their case,
// what is unknown is passed over, and a number or a boolean is no text. Its errors quote
// nothing of the file, which holds tokens, passwords and keys.
func unmarshalYAML(data []byte, into any) error {
	text, err := yaml.YAMLToJSON(data)
	if err != nil {
		return syntaxWithoutValues(err)
	}
	err = json.Unmarshal(text, into, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if err == nil {
		return nil
	}
	var wrong *json.SemanticError
	if !errors.As(err, &wrong) {
		return errors.New("yaml: it cannot be read as JSON") // unreachable: it was JSON
	}
	field := fieldName(wrong.JSONPointer)
	if noBase64, ok := errors.AsType[base64.CorruptInputError](err); ok {
		return fmt.Errorf("yaml: %s: %w", field, noBase64)
	}
	kind := kindName(wrong.JSONKind)
	hint := ""
	if wrong.GoType != nil && wrong.GoType.Kind() == reflect.String && (kind == "number" || kind == "bool") {
		hint = ": put it in quotes"
	}
	return &redactedError{
		text: fmt.Sprintf("yaml: %s is of the wrong type (%s)%s", field, kind, hint),
		err:  &stdjson.UnmarshalTypeError{Value: kind, Field: strings.TrimPrefix(field, wholeFile), Type: wrong.GoType},
	}
}

// wholeFile is what fieldName calls the root.
const wholeFile = "the file"

// fieldName writes /users/0/user/token as users[0].user.token.
func fieldName(pointer jsontext.Pointer) string {
	var b strings.Builder
	for token := range pointer.Tokens() {
		if _, err := strconv.Atoi(token); err == nil {
			b.WriteString("[" + token + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(token)
	}
	if b.Len() == 0 {
		return wholeFile
	}
	return b.String()
}

func kindName(kind jsontext.Kind) string {
	switch byte(kind) {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case '0':
		return "number"
	case 't', 'f':
		return "bool"
	}
	return kind.String()
}

// pemData is base64, which may have line breaks in it.
type pemData []byte

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *pemData) UnmarshalText(text []byte) error {
	data, err := base64.StdEncoding.DecodeString(string(text)) // passes over line breaks
	*d = data
	return err
}

// parserText is what the YAML parser says of syntax, in words of its own. What it says
// of anchors, tags and keys quotes them: a token that begins with an asterisk is an
// alias to it.
var parserText = regexp.MustCompile(`yaml: (line \d+: )?(did not find|could not find|found|mapping values|block|control characters) .*$`)

func syntaxWithoutValues(err error) error {
	if text := parserText.FindString(err.Error()); text != "" {
		return errors.New(text)
	}
	return errors.New("yaml: an alias (*), a tag (!) or a key that is not valid: put values with such characters in quotes")
}
