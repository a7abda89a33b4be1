package watchcache

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Token is a continue token: where a list continues, and at which version.
type Token struct {
	Version uint64 // 0: the present state, which is not older than the first page
	Start   string // the key from which the list continues
}

// tokenJSON is what kube-apiserver writes into a token, so that a list can continue at another
// server.
type tokenJSON struct {
	Form    string `json:"v"`
	Version int64  `json:"rv"` // -1: the present state
	Start   string `json:"start"`
}

const tokenForm = "meta.k8s.io/v1"

// encode returns the token of a list below prefix.
func (t Token) encode(prefix string) string {
	j := tokenJSON{Form: tokenForm, Version: int64(t.Version), Start: "/" + strings.TrimPrefix(t.Start, prefix)}
	if t.Version == 0 {
		j.Version, j.Start = -1, j.Start[1:]
	}
	b, _ := json.Marshal(j) // two strings and a number
	return base64.RawURLEncoding.EncodeToString(b)
}

// ParseToken reads the continue token of a list below prefix, which is "namespace/" or "". A token
// never leads out of the prefix.
func ParseToken(s, prefix string) (Token, error) {
	var j tokenJSON
	data, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		err = json.Unmarshal(data, &j)
	}
	key := "/" + strings.TrimPrefix(j.Start, "/")
	switch {
	case err != nil:
	case j.Form != tokenForm:
		err = fmt.Errorf("server does not recognize this encoded version %q", j.Form)
	case j.Version == 0:
		err = errors.New("incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
	case j.Start == "":
		err = errors.New("encoded start key empty (version meta.k8s.io/v1)")
	case path.Clean(key) != key:
		err = errors.New(j.Start)
	default:
		return Token{Version: uint64(max(j.Version, 0)), Start: prefix + key[1:]}, nil
	}
	return Token{}, apierrors.NewBadRequest(fmt.Sprintf("invalid continue token: continue key is not valid: %v", err))
}

// ExpiredToken is the answer to a token whose version is gone: a 410. It offers a token that
// continues with the present state.
func ExpiredToken(t Token, prefix string) error {
	const message = "The provided continue parameter is too old to display a consistent list result. " +
		"You can start a new list without the continue parameter, or use the continue token in this response to retrieve " +
		"the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were " +
		"created, modified, or deleted between the time the first chunk was returned and now may show up in the list."
	err := apierrors.NewResourceExpired(message)
	err.ErrStatus.ListMeta = metav1.ListMeta{Continue: Token{Start: t.Start}.encode(prefix)}
	return err
}
