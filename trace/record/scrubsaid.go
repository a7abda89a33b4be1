package record

import "github.com/go-json-experiment/json/jsontext"

// said replaces what an answer says of objects.
func (s *scrubber) said(what said) said {
	switch what := what.(type) {
	case *list:
		out := &list{version: what.version, token: s.token(what.token), extra: s.json("", what.extra)}
		for _, o := range what.objects {
			out.objects = append(out.objects, s.object(o))
		}
		return out
	case *begunList:
		out := &begunList{of: what.of}
		for _, o := range what.objects {
			out.objects = append(out.objects, s.object(o))
		}
		return out
	case *event:
		return &event{typ: what.typ, object: s.object(what.object), split: what.split}
	case *bookmark:
		return &bookmark{version: what.version, extra: s.json("", what.extra), split: what.split}
	case *status:
		return &status{
			event: what.event, code: what.code, reason: s.reason(what.reason), message: s.message(what.message),
			extra: s.json("", what.extra),
		}
	case *whole:
		return &whole{code: what.code, contentType: what.contentType, body: s.bytes(what.body)}
	case *raw:
		if eventStart.Match(what.data) && len(eventStart.Find(what.data)) == len(what.data) {
			return what // it ends before anything is named
		}
		return &raw{data: s.bytes(what.data)}
	}
	return what // head and ending say nothing of objects
}

func (s *scrubber) object(o object) object {
	return object{
		namespace: s.namespaces[o.namespace],
		name:      s.names[o.name],
		version:   o.version,
		uid:       s.uids[o.uid],
		extra:     s.json("", o.extra),
	}
}

// bytes replaces what is no object: JSON by its members, anything else letter by
// letter, so that it stays as long and as broken as it was.
func (s *scrubber) bytes(data []byte) []byte {
	if v := jsontext.Value(data).Clone(); v.IsValid(lenient) {
		scrubbed := []byte(s.json("", v))
		if n := len(data); n > 0 && data[n-1] == '\n' {
			scrubbed = append(scrubbed, '\n')
		}
		return scrubbed
	}
	out := make([]byte, len(data))
	for i, b := range data {
		switch {
		case b >= '0' && b <= '9':
			b = '0'
		case b >= 'A' && b <= 'Z', b >= 'a' && b <= 'z', b >= 0x80:
			b = 'x'
		}
		out[i] = b
	}
	return out
}
