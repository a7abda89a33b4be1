package transport

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Impersonation is another user as whom requests are made, if the server lets the
// credential's user do that.
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation
type Impersonation struct {
	// User is the name. It is required if any of the others is set.
	User string

	// UID is the identifier.
	UID string

	// Groups are the only ones that the user is in, except that the server may add
	// system:authenticated.
	Groups []string

	// Extra are further attributes. Their keys are taken in lower case.
	Extra map[string][]string
}

// The headers of an impersonation.
const (
	impersonateUser  = "Impersonate-User"
	impersonateUID   = "Impersonate-Uid"
	impersonateGroup = "Impersonate-Group"
	impersonateExtra = "Impersonate-Extra-"
)

// header returns what is sent, nil for nobody.
func (i Impersonation) header() (http.Header, error) {
	if i.User == "" {
		if i.UID != "" || len(i.Groups) > 0 || len(i.Extra) > 0 {
			return nil, errors.New("there is a UID, groups or extra attributes, but no User, in Impersonate: nobody can be impersonated without a name")
		}
		return nil, nil
	}
	h := http.Header{impersonateUser: {i.User}}
	if i.UID != "" {
		h[impersonateUID] = []string{i.UID}
	}
	if len(i.Groups) > 0 {
		h[impersonateGroup] = slices.Clone(i.Groups)
	}
	for _, key := range slices.Sorted(maps.Keys(i.Extra)) {
		if key == "" {
			return nil, errors.New("Impersonate.Extra has a key that is empty")
		}
		name := http.CanonicalHeaderKey(impersonateExtra + escapeHeaderKey(key))
		h[name] = append(h[name], i.Extra[key]...)
	}
	for name, values := range h { // which of several is named does not matter
		for _, v := range values {
			if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				return nil, fmt.Errorf("the value of %s has a control character, which no header can carry", name)
			}
		}
	}
	return h, nil
}

// apply adds an impersonation to a request, unless the caller gave one of its own.
func impersonate(to, as http.Header) {
	if _, own := to[impersonateUser]; own {
		return
	}
	maps.Copy(to, as)
}

// escapeHeaderKey encodes the bytes of a key that cannot be in the name of a header
// (RFC 9110, section 5.6.2), and the percent sign, which the server decodes.
func escapeHeaderKey(key string) string {
	var b strings.Builder
	for i := range len(key) {
		c := key[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("!#$&'*+-.^_`|~", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
