package simulation

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"

	"github.com/relist-go/relist/deltafifo"
)

// errMood is what a moody sink returns.
var errMood = errors.New("not now")

// moody is a queue that does not take everything that it is given.
type moody struct {
	*deltafifo.Queue[*object]
	rand *rand.Rand // of the reflector's goroutine, like all else here
	rate float64
	no   int

	calmed atomic.Bool
}

// calm ends the moods. It is called from another goroutine than all else.
func (m *moody) calm() { m.calmed.Store(true) }

func (m *moody) refuses() bool {
	if m.calmed.Load() || m.rand.Float64() >= m.rate {
		return false
	}
	m.no++
	return true
}

func (m *moody) Add(obj *object) error    { return m.try(func() error { return m.Queue.Add(obj) }) }
func (m *moody) Update(obj *object) error { return m.try(func() error { return m.Queue.Update(obj) }) }

func (m *moody) Delete(obj *object) error { return m.try(func() error { return m.Queue.Delete(obj) }) }
func (m *moody) Resync() error            { return m.try(m.Queue.Resync) }

func (m *moody) DeleteInferred(obj *object) error {
	return m.try(func() error { return m.Queue.DeleteInferred(obj) })
}

func (m *moody) Replace(items []*object, version string) error {
	return m.try(func() error { return m.Queue.Replace(items, version) })
}

func (m *moody) try(do func() error) error {
	if m.refuses() {
		return errMood
	}
	return do()
}
