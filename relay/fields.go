package relay

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/watchcache"
)

// paths are the members of an object that a field selector can name. The key of a path ends without a dot, that of its parents with one.
type paths map[string]bool

// pathsOf returns the paths of a resource. Of a custom type they are unknown here, so the upstream answers what names one.
func pathsOf(resource schema.GroupResource) paths {
	p := paths{}
	for _, path := range watchcache.SelectableFields(resource) {
		member := path
		if path == "source" {
			member = "source.component" // an Event
		}
		p[member] = true
		for i, c := range member {
			if c == '.' {
				p[member[:i+1]] = true
			}
		}
	}
	return p
}

// read reads the value of a member, and keeps it if it is a field.
func (p paths) read(dec *jsontext.Decoder, name, prefix string, into fields.Set) error {
	path := prefix + name
	switch kind := dec.PeekKind(); {
	case kind == '{' && p[path+"."]:
		_, err := members(dec, func(name string) error { return p.read(dec, name, path+".", into) })
		return err
	case p[path] && kind != '{' && kind != '[' && kind != 'n':
		token, err := dec.ReadToken()
		if err == nil {
			into[strings.TrimSuffix(path, ".component")] = token.String()
		}
		return err
	}
	return dec.SkipValue()
}

// complete adds the fields that an object lacks.
func (p paths) complete(into fields.Set) {
	for path := range p { // each is added by itself: the order does not matter
		name := strings.TrimSuffix(path, ".component")
		if _, ok := into[name]; !ok && !strings.HasSuffix(path, ".") {
			into[name] = watchcache.AbsentField(name)
		}
	}
}

// judges reports whether the relay can tell which objects a field selector selects.
func (p paths) judges(selector fields.Selector) bool {
	for _, req := range selector.Requirements() {
		switch f := req.Field; {
		case f == "metadata.name", f == "metadata.namespace":
		case f == "source" && p["source.component"]:
		case !p[f]:
			return false
		}
	}
	return true
}
