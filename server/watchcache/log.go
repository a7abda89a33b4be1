package watchcache

// A Log is a window and the states that it is about, as a cache can be made of it again.
type Log struct {
	Floor   uint64   // the version at which the window begins
	Base    []Object // the states at Floor
	Changes []Logged // the changes after Floor, the oldest first
	Version uint64   // the version of the last state
}

// Logged is a change of a [Log].
type Logged struct {
	Object  Object
	Deleted bool // Object is the last state, with the version of the deletion
}

// Log returns the window, and false if the states are not those of one version at this moment.
func (c *Cache) Log() (Log, bool) {
	c.mu.RLock()
	if !c.ready || c.version < c.ahead {
		c.mu.RUnlock()
		return Log{}, false
	}
	log := Log{Floor: min(c.window.floor, c.version), Version: c.version}
	base := c.stateAt(log.Floor)
	log.Changes = c.since(log.Floor)
	c.mu.RUnlock()
	for o := range base.objects(Selection{}, "") {
		log.Base = append(log.Base, o)
	}
	return log, true
}

// Since returns the changes after version, or false if the window begins after it.
func (c *Cache) Since(version uint64) ([]Logged, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if version < c.window.floor {
		return nil, false
	}
	return c.since(version), true
}

func (c *Cache) since(version uint64) (changes []Logged) {
	for _, ch := range c.window.after(version) {
		changes = append(changes, Logged{ch.after, ch.deleted})
	}
	return changes
}

// Restore fills the cache with what was saved.
func (c *Cache) Restore(log Log) error {
	if err := c.Fill(log.Floor, log.Base); err != nil {
		return err
	}
	for _, ch := range log.Changes {
		c.Apply(ch.Object, ch.Deleted)
	}
	c.Progress(log.Version)
	return nil
}
