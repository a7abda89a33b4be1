package apitest

import (
	"cmp"
	_ "embed"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// schemaText has the protobuf messages of the built-in types. The name of a message has a line of
// its own, and each field is a line below it: its number, its name in JSON and its type.
// test/conformance/cmd/schema writes the file from the types of k8s.io/api, because this module
// does not import k8s.io/api.
//
//go:embed schema.txt
var schemaText string

// A message describes a type in protobuf.
type message struct {
	name   string
	fields []messageField
}

type messageField struct {
	number   uint64
	name     string // in JSON; "" if its members are part of the object around it
	kind     string // string, bytes, bool, int, time, microtime, quantity, intstr, raw or the name of a message
	repeated bool
	mapped   bool // a map from strings to kind
	omitted  bool // left out of JSON if it is zero
}

// messageTypes returns all messages; the key is the name, such as "core/v1.Pod".
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
		f.number = f.number*10 + uint64(digit-'0')
	}
	if words[1] != "-" {
		f.name = words[1]
	}
	f.kind, f.omitted = strings.CutSuffix(words[2], "?")
	f.kind, f.mapped = strings.CutPrefix(f.kind, "map:")
	f.kind, f.repeated = strings.CutPrefix(f.kind, "[]")
	return f
}

// messageOf returns the message of a built-in type, or nil if there is none.
func messageOf(gvk schema.GroupVersionKind) *message {
	group, _, _ := strings.Cut(gvk.Group, ".")
	group = cmp.Or(group, "core")
	return messageTypes()[group+"/"+gvk.Version+"."+gvk.Kind]
}
