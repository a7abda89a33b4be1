package reflector

import "github.com/relist-go/relist/listwatch"

// collection puts a list together from the initial events of a watch, in the order in
// which the server sent them.
type collection[T any] struct {
	places map[string]int // of a key, in events
	events []listwatch.Event[T]
}

func newCollection[T any]() *collection[T] {
	return &collection[T]{places: map[string]int{}}
}

// add takes an event. A change that comes before the end of the initial events takes
// the place of its object.
func (c *collection[T]) add(e listwatch.Event[T]) {
	place, ok := c.places[e.Meta.Key]
	if !ok || e.Meta.Key == "" {
		c.places[e.Meta.Key] = len(c.events)
		c.events = append(c.events, e)
		return
	}
	c.events[place] = e
}

// list returns what there is after all events.
func (c *collection[T]) list(version string) *listwatch.List[T] {
	list := &listwatch.List[T]{ResourceVersion: version}
	for _, e := range c.events {
		switch {
		case e.Type == listwatch.Deleted:
		case e.Err != nil:
			list.Errors = append(list.Errors, e.Err)
		default:
			list.Items = append(list.Items, e.Object)
		}
	}
	return list
}
