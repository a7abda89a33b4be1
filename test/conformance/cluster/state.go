package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
)

// Version is what identifies one version of an object.
type Version struct{ UID, ResourceVersion string }

// State is what a server or a copy holds: the version of each object, by its key.
type State map[string]Version

// Digest is that of the summary of relist mirror.
func (s State) Digest() string {
	sum := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(s)) {
		_, _ = fmt.Fprintf(sum, "%s %s %s\n", key, s[key].UID, s[key].ResourceVersion)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}
