package report

// Fault says that something is about to be broken on purpose.
type Fault struct {
	Name    string
	Message string // what is done
}

// Recovered says that a fault was met, and that the mirror is live again.
type Recovered struct {
	Name    string
	Seconds float64 // since the fault
	Message string  // what has helped
}

// Kind is "fault".
func (Fault) Kind() string { return "fault" }

// Kind is "recovered".
func (Recovered) Kind() string { return "recovered" }

// Text implements [Line].
func (f Fault) Text() string { return f.Name + ": " + f.Message }

// Text implements [Line].
func (r Recovered) Text() string {
	return r.Name + ", live again after " + Short(r.Seconds) + " (" + r.Message + ")"
}
