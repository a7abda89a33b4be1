package json

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/relist-go/relist/listwatch/internal/intern"
)

// structDecoder decodes JSON into values of one type, and remembers parts that repeat. One
// goroutine at a time may use it.
//
// apimachinery's decoder (k8s.io/apimachinery/pkg/util/json), which client-go uses,
// defines the result: structDecoder decodes the same bytes into an equal value, in a sixth of
// the time if a server has written them. If an object has anything unusual (a field that
// occurs twice, a name with escapes, a value of the wrong type, an error of any kind),
// structDecoder leaves the whole object to that decoder.
type structDecoder struct {
	typ    reflect.Type // a struct, as a rule
	plan   *plan
	index  index
	text   intern.Table
	shared intern.Cache[any]
	known  known
	share  bool
}

// known holds values of some types from earlier objects.
type known struct {
	parts    intern.Cache[reflect.Value]
	fields   intern.Cache[*metav1.FieldsV1]
	entries  intern.Cache[[]metav1.ManagedFieldsEntry]
	timeText []byte
	time     time.Time

	managed bool // the parser is inside managedFields
	caching bool // the present part contains a value whose methods may write to it
}

// newStructDecoder returns a decoder for a struct or a pointer to one. If share is true,
// different objects share equal parts in memory, and nobody may change them. The object's
// own struct and its metadata are never shared. Strings and managedFields are shared in
// any case.
func newStructDecoder(typ reflect.Type, share bool) *structDecoder {
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	return &structDecoder{typ: typ, plan: planFor(typ), share: share}
}

// Decode decodes object into *into, which has the decoder's type. The error is a
// *jsontext.SyntacticError if object is not JSON, and otherwise a *json.SemanticError. It
// does not quote the object.
func (s *structDecoder) Decode(object []byte, into any) error {
	v := reflect.ValueOf(into).Elem()
	if s.decode(object, v) {
		return nil
	}
	v.SetZero()
	err := utiljson.Unmarshal(object, into)
	if err == nil {
		return nil
	}
	v.SetZero()
	return explain(object, v.Type(), err)
}

// decode decodes object into v. It returns false if apimachinery's decoder must do so.
func (s *structDecoder) decode(object []byte, v reflect.Value) bool {
	if s.index.build(object) != nil {
		return false
	}
	defer s.index.shrink()
	p := parser{b: object, nodes: s.index.nodes, text: &s.text, shared: &s.shared, sharing: s.share, known: &s.known}
	s.known.managed, s.known.caching = false, false
	made := v.Addr()
	if v.Type() != s.typ { // a pointer to it
		made = reflect.New(s.typ)
	}
	i := p.space(0)
	if p.at(i) == 'n' {
		return false
	}
	end := s.plan.decode(&p, i, made.UnsafePointer())
	if end < 0 || p.space(end) != len(object) {
		return false
	}
	if v.Type() != s.typ {
		v.Set(made)
	}
	return true
}

// explain returns an error for an object that apimachinery's decoder refuses with err. If
// json/v2 refuses the object, too, as it usually does, explain returns its error, because
// it says where in the object the problem is.
func explain(object []byte, typ reflect.Type, err error) error {
	var value jsontext.Value
	if syntactic := json.Unmarshal(object, &value, lenient); syntactic != nil {
		return syntactic
	}
	none, again := reflect.New(typ).Interface(), reflect.New(typ).Interface()
	if better := json.Unmarshal(object, again, lenient); better != nil && json.Unmarshal([]byte("{}"), none) == nil {
		var semantic *json.SemanticError
		if errors.As(better, &semantic) {
			semantic.JSONValue = nil // the value may be a part of a Secret
			semantic.Err = unquoted(semantic.Err, semantic.GoType)
		}
		return better
	}
	var wrong *stdjson.UnmarshalTypeError
	if errors.As(err, &wrong) {
		kind, _, _ := strings.Cut(wrong.Value, " ") // "number 7" becomes "number", so the value is not quoted
		return &json.SemanticError{
			GoType: wrong.Type, JSONPointer: jsontext.Pointer("/" + strings.ReplaceAll(wrong.Field, ".", "/")),
			Err: fmt.Errorf("it is a %s", kind),
		}
	}
	return &json.SemanticError{GoType: typ, Err: unquoted(err, typ)}
}

// unquoted returns an error about a value for a typ without the value: of a Secret it may be
// the secret, and it may be long. Methods of the standard library and of apimachinery quote all
// of it, and add nothing to the name of the type. Any other error, such as that of a program's
// own method, is kept up to a bound, but for apimachinery's about an object without a kind,
// which has all of the object.
func unquoted(err error, typ reflect.Type) error {
	switch {
	case err == nil:
		return nil
	case runtime.IsMissingKind(err):
		return &methodError{"it names no kind", err}
	case quotes(typ):
		return nil
	}
	if text := err.Error(); len(text) > maxMethodText {
		return &methodError{strings.ToValidUTF8(text[:maxMethodText], "") + "…", err}
	}
	return err
}

// maxMethodText is the most that is kept of such a text.
const maxMethodText = 500

// methodError is an error of a method with another text.
type methodError struct {
	text string
	err  error
}

func (e *methodError) Error() string { return e.text }
func (e *methodError) Unwrap() error { return e.err }

// quotes reports whether methods of typ are known to quote what they cannot read.
func quotes(typ reflect.Type) bool {
	if typ == nil {
		return false
	}
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch path := typ.PkgPath(); path {
	case "time", "net", "net/netip", "net/url", "math/big", "regexp":
		return true
	default:
		return strings.HasPrefix(path, "k8s.io/apimachinery/")
	}
}

func isString(text []byte) bool {
	return jsontext.Value(text).IsValid(lenient)
}
