package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth is how deep objects and arrays may be nested for SQLite: JSON_MAX_DEPTH,
// https://www.sqlite.org/json1.html#compiling_in_json_support
const maxDepth = 1000

var errNotObject = errors.New("not a JSON object")

// Check returns an error if a Copy cannot store an object as it is: if it is not one JSON object in
// UTF-8, or is nested more than 1,000 deep.
//
// A [Copy] cannot leave out an object, so a program calls Check before, in
// listwatch.Options.Transform: then the reflector keeps the key in quarantine, reports it, and
// continues.
func Check(object []byte) error {
	if k := jsontext.Value(object).Kind(); k != '{' {
		return fmt.Errorf("sqlite: %w", errNotObject)
	}
	// Nearly every object has fewer brackets than that in all, so its depth need not be known.
	if bytes.Count(object, []byte("{"))+bytes.Count(object, []byte("[")) <= maxDepth && jsontext.Value(object).IsValid(jsontext.AllowDuplicateNames(true)) {
		return nil
	}
	d := jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowDuplicateNames(true))
	for {
		_, err := d.ReadToken()
		switch {
		case err == io.EOF: //nolint:errorlint // ReadToken returns it as it is
			return nil
		case err != nil:
			return fmt.Errorf("sqlite: %w", err)
		case d.StackDepth() > maxDepth:
			return fmt.Errorf("sqlite: nested more than %d deep", maxDepth)
		case d.StackDepth() == 0 && d.InputOffset() < int64(len(bytes.TrimRight(object, " \t\r\n"))):
			return fmt.Errorf("sqlite: %w: something follows it", errNotObject)
		}
	}
}
