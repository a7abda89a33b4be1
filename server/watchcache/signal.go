package watchcache

// A trigger is what an object must have for a watch to select it: a namespace, and a value of one
// field. An empty namespace is any namespace, and an empty field no condition.
type trigger struct{ namespace, field, value string }

const (
	nameField = "metadata.name"
	nodeField = "spec.nodeName"
)

// trigger returns the condition by which changes can be told apart before the selectors are tried.
//
// Source of the fields: kube-apiserver wakes the watches of Pods by spec.nodeName, and those of
// Nodes, Secrets and ConfigMaps by name.
func (s Selection) trigger() trigger {
	if s.Fields != nil {
		for _, field := range []string{nameField, nodeField} {
			if value, ok := s.Fields.RequiresExactMatch(field); ok {
				return trigger{s.Namespace, field, value}
			}
		}
	}
	return trigger{namespace: s.Namespace}
}

// A signal tells the watchers with one trigger that there is something for them. It does so once.
type signal struct {
	done     chan struct{} // closed with the signal
	closed   bool
	version  uint64 // of the change that closed it: no change between the beginning of the signal and this one was for its watchers
	watchers int    // that wait; a signal without any is forgotten
}

type signals map[trigger]*signal

func (s signals) join(t trigger) *signal {
	one := s[t]
	if one == nil {
		one = &signal{done: make(chan struct{})}
		s[t] = one
	}
	one.watchers++
	return one
}

func (s signals) leave(t trigger, one *signal) {
	if one.watchers--; one.watchers == 0 && !one.closed {
		delete(s, t)
	}
}

// raise closes the signals of all watchers that may select the object before or after a change.
func (s signals) raise(c *change) {
	for _, o := range []Object{c.before, c.after} {
		if o == nil {
			continue
		}
		name, node := o.GetName(), o.GetFields().Get(nodeField)
		for _, namespace := range []string{"", o.GetNamespace()} {
			s.close(trigger{namespace: namespace}, c.version)
			s.close(trigger{namespace, nameField, name}, c.version)
			s.close(trigger{namespace, nodeField, node}, c.version)
		}
	}
}

// raiseAll closes all signals, because the window has ended.
func (s signals) raiseAll() {
	for t := range s { // each is closed by itself: the order does not matter
		s.close(t, 0)
	}
}

func (s signals) close(t trigger, version uint64) {
	if one := s[t]; one != nil {
		one.closed, one.version = true, version
		close(one.done)
		delete(s, t)
	}
}
