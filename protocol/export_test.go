package protocol

// Rewrite is the flag of tests that write a file.
var Rewrite = update

// Guest is what is done beside the conversation.
type Guest string

// The guests.
const (
	Quarantine Guest = "quarantine"
	History    Guest = "history"
	Verify     Guest = "verify"
	Saved      Guest = "saved"
)

// LeaveOut makes a machine that has taken an input one that has no such guest. A guest acts on what
// it remembers, so it is left out if it forgets everything after each step.
func (m *Machine) LeaveOut(guest Guest, in Input) {
	switch guest {
	case Quarantine:
		m.quarantine = newQuarantine(m.rules)
	case History:
		m.history = history{rules: m.rules}
	case Verify:
		m.verify = verification{}
	case Saved:
		if _, ok := in.(ResumeSaved); ok {
			*m = *New(*m.rules)
		}
	}
}
