package transport

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// unmarshalYAML is yaml.Unmarshal with errors that quote nothing of the file, which
// holds tokens, passwords and keys.
func unmarshalYAML(data []byte, into any) error {
	if err := yaml.Unmarshal(data, into); err != nil {
		return withoutValues(err)
	}
	return nil
}

// parserText is what the YAML parser says of syntax, in words of its own. What it says
// of anchors, tags and keys quotes them: a token that begins with an asterisk is an
// alias to it.
var parserText = regexp.MustCompile(`yaml: (line \d+: )?(did not find|could not find|found|mapping values|block|control characters) .*$`)

func withoutValues(err error) error {
	var wrongType *json.UnmarshalTypeError
	var noBase64 base64.CorruptInputError
	switch {
	case errors.As(err, &wrongType):
		wrongType.Value, _, _ = strings.Cut(wrongType.Value, " ") // "number 12"
		field := cmp.Or(wrongType.Field, "the file")
		return &redactedError{text: fmt.Sprintf("yaml: %s is of the wrong type (%s)", field, wrongType.Value), err: err}
	case errors.As(err, &noBase64):
		return fmt.Errorf("yaml: a field that ends in -data: %w", noBase64)
	}
	if text := parserText.FindString(err.Error()); text != "" {
		return errors.New(text)
	}
	return errors.New("yaml: an alias (*), a tag (!) or a key that is not valid: put values with such characters in quotes")
}
