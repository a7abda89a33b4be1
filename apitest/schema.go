package apitest

import (
	_ "embed"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// schemaText has the messages of the built-in types: a name, and the fields in the lines below it, each with its number, its
// name in JSON and its type. conformance/cmd/schema writes it from the types of k8s.io/api, which this module does without.
//
//go:embed schema.txt
var schemaText string

// A message is a type in protobuf.
type message struct {
	name   string
	fields []messageField
}

// A messageField is one field of a message.
type messageField struct {
	number   uint64
	name     string // in JSON; "" if its members stand in the object around it
	kind     string // string, bytes, bool, int, time, microtime, quantity, intstr, raw or the name of a message
	repeated bool
	mapped   bool // from strings
	omitted  bool // from JSON, if it is zero
}

// messageTypes are by name: "core/v1.Pod".
var messageTypes = sync.OnceValue(func() map[string]*message {
	all := make(map[string]*message)
	var m *message
	for line := range strings.Lines(schemaText) {
		line = strings.TrimSuffix(line, "\n")
		field, ok := strings.CutPrefix(line, "\t")
		if !ok {
			m = &message{name: line}
			all[line] = m
			continue
		}
		m.fields = append(m.fields, parseField(field))
	}
	return all
})

func parseField(line string) messageField {
	words := strings.Fields(line)
	if len(words) != 3 {
		// unreachable: the file is part of the program, and a test reads it.
		panic("apitest: schema.txt: " + line)
	}
	var f messageField
	for _, digit := range words[0] {
		f.number = f.number*10 + uint64(digit-'0') //nolint:gosec // digits
	}
	if words[1] != "-" {
		f.name = words[1]
	}
	f.kind, f.omitted = strings.CutSuffix(words[2], "?")
	f.kind, f.mapped = strings.CutPrefix(f.kind, "map:")
	f.kind, f.repeated = strings.CutPrefix(f.kind, "[]")
	return f
}

// messageOf returns the message of a built-in type, nil if there is none.
func messageOf(gvk schema.GroupVersionKind) *message {
	group, _, _ := strings.Cut(gvk.Group, ".")
	if group == "" {
		group = "core"
	}
	return messageTypes()[group+"/"+gvk.Version+"."+gvk.Kind]
}
