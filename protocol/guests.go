package protocol

// Guests are what the machine does beside the conversation.
type Guests struct{ Quarantine, History, Verify, Saved bool }

// Only makes a machine that has taken an input one that has no other guests than these. A guest
// acts on what it remembers, so it is left out if it forgets everything after each step. No driver
// calls Only: it is for who wants to see what a guest is for.
func (m *Machine) Only(has Guests, in Input) {
	if !has.Quarantine {
		m.quarantine = newQuarantine(m.rules)
	}
	if !has.History {
		m.history = history{rules: m.rules}
	}
	if !has.Verify {
		m.verify = verification{}
	}
	if _, ok := in.(ResumeSaved); ok && !has.Saved {
		*m = *New(*m.rules)
	}
}
