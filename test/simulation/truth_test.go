package simulation

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	relistobject "github.com/relist-go/relist/object"
)

// object is one version of one object. It is never changed.
type object struct {
	name    string
	uid     types.UID
	version uint64

	// heals is when this version can be decoded, as when a conversion webhook works
	// again. It is zero for a version that always can be, and never for one that never
	// can be.
	heals time.Time
}

// never is a time that no simulation reaches.
var never = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

func (*object) GetNamespace() string         { return "" }
func (o *object) GetName() string            { return o.name }
func (o *object) GetUID() types.UID          { return o.uid }
func (o *object) GetResourceVersion() string { return format(o.version) }

func (o *object) meta() relistobject.Meta {
	return relistobject.Meta{Key: o.name, UID: o.uid, ResourceVersion: format(o.version)}
}

func (o *object) ill() bool { return time.Now().Before(o.heals) }

func format(version uint64) string { return strconv.FormatUint(version, 10) }

// parse returns 0 for what is no version: "" and "0" ask for any.
func parse(version string) uint64 {
	v, _ := strconv.ParseUint(version, 10, 64)
	return v
}

// birth is the version of the empty storage.
const birth = 1000

// A truth is what is stored: all that ever happened, one change to a version.
type truth struct {
	mu      sync.Mutex
	log     []change // that of version birth+1 comes first
	objects map[string]*object
	floor   uint64        // the oldest version that a watch can start from
	changed chan struct{} // closed at the next change
	uids    int
}

// change is what happened at the version of its object.
type change struct {
	typ relistobject.EventType
	obj *object
}

func newTruth() *truth {
	return &truth{objects: map[string]*object{}, floor: birth, changed: make(chan struct{})}
}

// version is that of the last change. It needs mu.
func (t *truth) version() uint64 { return birth + uint64(len(t.log)) }

// put makes an object or changes it.
func (t *truth) put(name string, heals time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	obj := &object{name: name, version: t.version() + 1, heals: heals}
	typ := relistobject.Added
	if before, ok := t.objects[name]; ok {
		typ, obj.uid = relistobject.Modified, before.uid
	} else {
		t.uids++
		obj.uid = types.UID(strconv.Itoa(t.uids))
	}
	t.objects[name] = obj
	t.commit(change{typ: typ, obj: obj})
}

// remove deletes an object, if it is there.
func (t *truth) remove(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before, ok := t.objects[name]
	if !ok {
		return
	}
	delete(t.objects, name)
	t.commit(change{typ: relistobject.Deleted, obj: &object{name: name, uid: before.uid, version: t.version() + 1, heals: before.heals}})
}

func (t *truth) commit(c change) {
	t.log = append(t.log, c)
	close(t.changed)
	t.changed = make(chan struct{})
}

// compact forgets what a watch could start from, but for the last few versions.
func (t *truth) compact(keep uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.floor = max(t.floor, t.version()-min(keep, t.version()-birth))
}

// forget is a window of events that lists do not fit into: nothing before this moment can
// be watched from. It takes a change of something else to get there.
func (t *truth) forget() {
	t.put("elsewhere", time.Time{})
	t.compact(0)
}

// at returns the state at a version, by name. It needs mu.
func (t *truth) at(version uint64) []*object {
	objects := t.objects
	if version != t.version() {
		objects = map[string]*object{}
		for _, c := range t.log[:version-birth] {
			if c.typ == relistobject.Deleted {
				delete(objects, c.obj.name)
			} else {
				objects[c.obj.name] = c.obj
			}
		}
	}
	var all []*object
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		all = append(all, objects[name])
	}
	return all
}

// after returns the change that follows a version. It needs mu.
func (t *truth) after(version uint64) (change, bool) {
	if version >= t.version() {
		return change{}, false
	}
	return t.log[version-birth], true
}

// now returns the present state, by name.
func (t *truth) now() []*object {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.at(t.version())
}
