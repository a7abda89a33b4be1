package apitest

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

// A continueToken says where a list continues, and in which snapshot. Clients must not look inside. It is base64
// of JSON, like kube-apiserver's token, so that the captures can be compared byte by byte.
type continueToken struct {
	Version string `json:"v"`
	RV      int64  `json:"rv"` // -1: the present state, without a snapshot
	Start   string `json:"start"`
}

// inconsistent is the RV of a token that continues without a snapshot.
const inconsistent = -1

// encodeContinue returns the token for a list that continues after key, the last key that was sent, below prefix.
func encodeContinue(key, prefix string, rv uint64) string {
	return continueToken{Version: "meta.k8s.io/v1", RV: int64(rv), Start: "/" + strings.TrimPrefix(key, prefix) + "\x00"}.String()
}

func (t continueToken) String() string {
	return base64.RawURLEncoding.EncodeToString(mustJSON(t))
}

// decodeContinue returns the key from which the list continues.
func decodeContinue(s, prefix string) (start string, rv int64, err error) {
	var t continueToken
	data, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		err = json.Unmarshal(data, &t)
	}
	key := "/" + strings.TrimPrefix(t.Start, "/")
	switch {
	case err != nil:
	case t.Version != "meta.k8s.io/v1":
		err = fmt.Errorf("server does not recognize this encoded version %q", t.Version)
	case t.RV == 0:
		err = errors.New("incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
	case t.Start == "":
		err = errors.New("encoded start key empty (version meta.k8s.io/v1)")
	case path.Clean(key) != key:
		// A token must not lead out of the type or the namespace it was made for.
		err = errors.New(t.Start)
	default:
		return prefix + key[1:], t.RV, nil
	}
	return "", 0, apierrors.NewBadRequest(fmt.Sprintf("invalid continue token: continue key is not valid: %v", err))
}

// expiredContinue is the answer to a token whose snapshot is gone. It offers a token that continues without a
// snapshot.
func expiredContinue(start, prefix string) error {
	const message = "The provided continue parameter is too old to display a consistent list result. " +
		"You can start a new list without the continue parameter, or use the continue token in this response to retrieve " +
		"the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were " +
		"created, modified, or deleted between the time the first chunk was returned and now may show up in the list."
	err := apierrors.NewResourceExpired(message)
	err.ErrStatus.ListMeta = metav1.ListMeta{
		Continue: continueToken{Version: "meta.k8s.io/v1", RV: inconsistent, Start: strings.TrimPrefix(start, prefix)}.String(),
	}
	return err
}
