package informer

import "github.com/relist-go/relist/reflector"

// MemberStatus is the status of a member of a [Group], or of a namespace of a [MultiNamespace].
type MemberStatus struct {
	Name      string // of the member; "" in the status of a MultiNamespace
	Namespace string // of a MultiNamespace; otherwise ""
	reflector.Status
}

// Status says how fresh the copies of the members are, and what keeps them from being fresher: see [Informer.Status]. It is
// sorted by name, and then by namespace. A Member of another type is in the Status if it has the method Status of an [Informer] or
// a [MultiNamespace], and otherwise it is left out.
func (g *Group) Status() []MemberStatus {
	var all []MemberStatus
	for _, m := range g.all() {
		all = append(all, statusOf(m.name, m.Member)...)
	}
	return all
}

func statusOf(name string, m Member) []MemberStatus {
	var all []MemberStatus
	switch m := m.(type) {
	case interface{ Status() reflector.Status }:
		all = append(all, MemberStatus{Name: name, Status: m.Status()})
	case interface{ Status() []MemberStatus }:
		for _, s := range m.Status() {
			s.Name = name
			all = append(all, s)
		}
	}
	return all
}
