package wire

// Identity is what identifies one version of one object, as it stands in its
// metadata. What is missing, or is not a string, is nil.
type Identity struct {
	Namespace, Name, UID, ResourceVersion []byte
}

// complete reports whether nothing more can come of interest. An object without a
// namespace is never complete: one may follow.
func (id *Identity) complete() bool {
	return len(id.Namespace) > 0 && len(id.Name) > 0 && len(id.UID) > 0 && len(id.ResourceVersion) > 0
}

// IdentityOf reads the identity of an object, and no further than it must: servers
// write metadata first, and what identifies an object before what is long. It returns
// what it has found where the bytes are no JSON or end early.
//
// A name that stands twice, which no server writes, counts once, with its first value.
func IdentityOf(object []byte) (id Identity) {
	for m := MembersOf(object); m.name(); {
		if string(m.Name) != "metadata" {
			if !m.value() {
				return id
			}
			continue
		}
		for meta := MembersOf(m.b[m.End:]); !id.complete() && meta.Next(); {
			var field *[]byte
			switch string(meta.Name) {
			case "namespace":
				field = &id.Namespace
			case "name":
				field = &id.Name
			case "uid":
				field = &id.UID
			case "resourceVersion":
				field = &id.ResourceVersion
			default:
				continue
			}
			if *field == nil && meta.Value[0] == '"' {
				*field = unquote(meta.Value)
			}
		}
		return id
	}
	return id
}
