package postgres

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// What PostgreSQL can store,
// https://www.postgresql.org/docs/current/datatype-numeric.html#DATATYPE-NUMERIC-DECIMAL and
// https://www.postgresql.org/docs/current/datatype-json.html. It has no limit for depth, but one
// for the stack, which a server may have set low: 1,000 levels need about a tenth of the default.
// The length of a string is bounded so that the bytes of all strings stay far below 256 MiB.
const (
	maxBeforePoint = 131072
	maxAfterPoint  = 16383
	maxExponent    = 1<<30 - 1
	maxDepth       = 1000
	maxSize        = 16 << 20
	maxNameBytes   = 1000 // of a name and of a namespace, which are a key together, see maxCluster
)

var (
	errJSON     = errors.New("it is not valid JSON")
	errNUL      = errors.New(`a string has the character \u0000, which PostgreSQL does not store`)
	errLongName = fmt.Errorf("its name or namespace has more than %d bytes, too many for an index", maxNameBytes)
	errTooDeep  = fmt.Errorf("arrays and objects are nested more than %d deep", maxDepth)
	errNumber   = fmt.Errorf("a number has more than %d digits before its point, or %d after it", maxBeforePoint, maxAfterPoint)
	errTooLarge = fmt.Errorf("it has more than %d MiB", maxSize>>20)
)

// Check returns an error if jsonb cannot store the object: if it is not JSON in UTF-8, or has half
// a surrogate pair, the character \u0000, a number with more than 131,072 digits before its point
// or 16,383 after it, more than 16 MiB or 1,000 levels, or if its name or namespace has more than
// 1,000 bytes.
//
// A [Copy] cannot leave out an object, so a program calls Check before, in
// listwatch.Options.Transform: then the reflector keeps the key in quarantine, reports it, and
// continues.
func Check(object []byte) error {
	if len(object) > maxSize {
		return errTooLarge
	}
	// Two members of one name are no error for PostgreSQL: the last one counts.
	if !jsontext.Value(object).IsValid(jsontext.AllowDuplicateNames(true)) {
		return invalid(object)
	}
	depth := 0
	inMetadata, isName := false, false // after the names of members
	for i := 0; i < len(object); i++ {
		switch b := object[i]; {
		case b == '"':
			start := i + 1
			for i++; object[i] != '"'; i++ {
				if object[i] != '\\' {
					continue
				}
				if i++; object[i] == 'u' && string(object[i+1:i+5]) == "0000" {
					return errNUL
				}
			}
			if depth > 2 {
				continue
			}
			text, rest := object[start:i], bytes.TrimLeft(object[i+1:], " \t\r\n")
			switch member := len(rest) > 0 && rest[0] == ':'; {
			case member && depth == 1:
				inMetadata = string(text) == "metadata"
			case member:
				isName = inMetadata && (string(text) == "name" || string(text) == "namespace")
			case isName && len(text) > maxNameBytes:
				return errLongName
			}
		case b == '{' || b == '[':
			if depth++; depth > maxDepth {
				return errTooDeep
			}
		case b == '}' || b == ']':
			depth--
		case b == '-' || '0' <= b && b <= '9':
			end := i + 1
			for end < len(object) && isNumber(object[end]) {
				end++
			}
			if err := checkNumber(object[i:end]); err != nil {
				return err
			}
			i = end - 1
		}
	}
	return nil
}

// invalid says why JSON is not valid, without any of it: it can be a Secret.
func invalid(object []byte) error {
	value := jsontext.Value(bytes.Clone(object))
	err := value.Compact(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(false))
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return errJSON
	}
	return fmt.Errorf("%w, at byte %d", errJSON, syntax.ByteOffset)
}

func isNumber(b byte) bool {
	return '0' <= b && b <= '9' || b == '.' || b == 'e' || b == 'E' || b == '+' || b == '-'
}

// checkNumber refuses a number that the type numeric cannot have.
func checkNumber(number []byte) error {
	number = bytes.TrimPrefix(number, []byte("-"))
	exponent := 0
	if i := bytes.IndexAny(number, "eE"); i >= 0 {
		n, err := strconv.Atoi(string(number[i+1:]))
		if err != nil || n >= maxExponent || n <= -maxExponent {
			return errNumber
		}
		number, exponent = number[:i], n
	}
	whole, fraction, _ := bytes.Cut(number, []byte("."))
	if len(fraction)-exponent > maxAfterPoint {
		return errNumber
	}
	// The place of the first digit that is not 0: 1 for units, 0 for tenths.
	place := len(whole)
	for _, digits := range [][]byte{whole, fraction} {
		for _, digit := range digits {
			if digit != '0' {
				if place+exponent > maxBeforePoint {
					return errNumber
				}
				return nil
			}
			place--
		}
	}
	return nil
}
