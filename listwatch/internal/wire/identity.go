package wire

// Identity holds the members of an object's metadata that identify one version of the
// object. A field is nil if the member is missing or not a string.
type Identity struct {
	Namespace, Name, UID, ResourceVersion []byte
}

// Complete reports whether all members have been found. Without a namespace it is
// never complete, because the namespace may still follow.
func (id *Identity) Complete() bool {
	return len(id.Namespace) > 0 && len(id.Name) > 0 && len(id.UID) > 0 && len(id.ResourceVersion) > 0
}

// Field returns the field for a member of the metadata, or nil if the member identifies nothing.
func (id *Identity) Field(name []byte) *[]byte {
	switch string(name) {
	case "namespace":
		return &id.Namespace
	case "name":
		return &id.Name
	case "uid":
		return &id.UID
	case "resourceVersion":
		return &id.ResourceVersion
	}
	return nil
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
		for meta := MembersOf(m.b[m.End:]); !id.Complete() && meta.Next(); {
			if field := id.Field(meta.Name); field != nil && *field == nil && meta.Value[0] == '"' {
				*field = meta.Text()
			}
		}
		return id
	}
	return id
}
