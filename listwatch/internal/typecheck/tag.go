package typecheck

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// isEmbedded reports whether a field is an embedded struct, or a pointer to one, whose
// fields are those of the struct around it if it has no name of its own.
func isEmbedded(f reflect.StructField) bool {
	return f.Anonymous && structOf(f.Type) != nil
}

// structOf returns the struct that a type is or points to, nil if there is none.
func structOf(typ reflect.Type) reflect.Type {
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct {
		return nil
	}
	return typ
}

// checkTag checks the tag of a field. decoded says whether something is put into the field.
func checkTag(f reflect.StructField, path string) (decoded bool, err error) {
	tag, tagged := f.Tag.Lookup("json")
	name, options, _ := strings.Cut(tag, ",")
	switch {
	case tag == "-":
		return false, nil
	case !tagged && strings.Contains(strings.ToLower(string(f.Tag)), "json:"):
		return false, fmt.Errorf("field %s has the malformed tag %q; write %s", path, string(f.Tag), wanted(f))
	case !f.IsExported() && isEmbedded(f) && name == "":
		if f.Type.Kind() == reflect.Pointer {
			return false, fmt.Errorf("field %s is an embedded pointer to a struct that is not exported, which cannot be set; embed the struct itself", path)
		}
	case !f.IsExported() && tagged && f.Name != "_":
		return false, fmt.Errorf("field %s is not exported, so that nothing can be put into it; export it, or remove its tag", path)
	case !f.IsExported():
		return false, nil
	}
	if name == "" && isEmbedded(f) {
		if structOf(f.Type) == reflect.TypeFor[metav1.ObjectMeta]() && !strings.Contains(path, ".") {
			return false, fmt.Errorf("field %s has no name in its tag, so that metadata would not be decoded; write `json:\"metadata\"`", path)
		}
	} else if err := checkName(f, name, path); err != nil {
		return false, err
	}
	return true, checkOptions(f, name, options, path)
}

// checkName checks a name that a field must have: no member of a Kubernetes object is
// called as an exported field of Go is.
func checkName(f reflect.StructField, name, path string) error {
	switch {
	case name == "":
		return fmt.Errorf("field %s has no name in a json tag, so that nothing would ever be put into it; write %s, or `json:\"-\"` if it is not the server's", path, wanted(f))
	case strings.TrimSpace(name) != name:
		return fmt.Errorf("field %s has white space around its name %q; write %s", path, name, wanted(f))
	case strings.ContainsFunc(name, func(c rune) bool {
		return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c)
	}):
		return fmt.Errorf("field %s has the name %q, which encoding/json ignores; write %s", path, name, wanted(f))
	}
	return nil
}

// checkOptions checks what stands in a tag behind the name.
func checkOptions(f reflect.StructField, name, options, path string) error {
	if options == "" {
		return nil
	}
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "", "omitempty", "omitzero":
			continue
		case "inline":
			if isEmbedded(f) && name == "" {
				continue
			}
			return fmt.Errorf("field %s has the option inline, which means nothing for a field that is not an embedded struct, or has a name; write %s", path, wanted(f))
		case "string":
			if isQuotable(f.Type) {
				continue
			}
			return fmt.Errorf("field %s has the option string, which means nothing for %v; write %s", path, f.Type, wanted(f))
		}
		for _, known := range []string{"omitempty", "omitzero", "inline", "string"} {
			if strings.EqualFold(strings.TrimSpace(option), known) {
				return fmt.Errorf("field %s has the option %q in its tag, which means nothing; write %q", path, option, known)
			}
		}
		return fmt.Errorf("field %s has the option %q in its tag, which means nothing; write %s", path, option, wanted(f))
	}
	return nil
}

// isQuotable reports whether a type can stand in quotes.
func isQuotable(typ reflect.Type) bool {
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch typ.Kind() {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return true
	default:
		return false
	}
}

// wanted returns the tag that a field was probably meant to have.
func wanted(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name = strings.TrimSpace(name); name == "" || strings.ContainsAny(name, "\"'`\\") {
		name = lowerFirst(f.Name)
	}
	return "`json:\"" + name + "\"`"
}

// lowerFirst turns PodIP into podIP, and URL into url.
func lowerFirst(name string) string {
	letters := []rune(name)
	for i := range letters {
		if i > 0 && i+1 < len(letters) && unicode.IsLower(letters[i+1]) || !unicode.IsUpper(letters[i]) {
			break
		}
		letters[i] = unicode.ToLower(letters[i])
	}
	return string(letters)
}
