package wire

// Identity holds the members of an object's metadata that identify one version of the
// object. A field is nil if the member is missing or not a string.
type Identity struct {
	Namespace, Name, UID, ResourceVersion []byte
}

// complete reports whether all members have been found. Without a namespace it is
// never complete, because the namespace may still follow.
func (id *Identity) complete() bool {
	return len(id.Namespace) > 0 && len(id.Name) > 0 && len(id.UID) > 0 && len(id.ResourceVersion) > 0
}

// IdentityOf reads the identity of an object. It stops as soon as it can, which is
// early, because servers write the metadata first, and short members of the metadata
// before long ones. If the bytes are not JSON or are cut off, it returns what it has
// found.
//
// If a name occurs twice, which no server writes, the first value counts.
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
