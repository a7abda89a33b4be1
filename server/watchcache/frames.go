package watchcache

import "sync"

// A Form is a way to write events: an encoding, of whole objects or of a part of them.
type Form interface {
	// ID names the form. Two forms with one ID write the same bytes.
	ID() string

	// AppendEvent appends an event to b, with what separates it from the next one.
	AppendEvent(b []byte, typ EventType, o Object) []byte
}

// An Event is what a watcher gets. It keeps what was written of it, for the next watcher.
type Event struct {
	Type   EventType
	Object Object
	shared *frames // nil: nobody else gets this event
}

// Frame returns the event in a form. Watchers share the bytes: the caller must not change them.
func (e Event) Frame(f Form) []byte {
	if e.shared == nil {
		return f.AppendEvent(nil, e.Type, e.Object)
	}
	return e.shared.get(f, e.Type, e.Object)
}

// frames are the encodings of one change. A change has few: one for each form that somebody watches
// in, and seldom more, because the type of an event depends on what the watch selects.
type frames struct {
	mu  sync.Mutex
	all []frame
}

type frame struct {
	form  string
	typ   EventType
	bytes []byte
}

func (s *frames) get(f Form, typ EventType, o Object) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := f.ID()
	for _, x := range s.all {
		if x.form == id && x.typ == typ {
			return x.bytes
		}
	}
	b := f.AppendEvent(nil, typ, o)
	s.all = append(s.all, frame{id, typ, b})
	return b
}
