package transport

import "testing"

// What the tests from outside have in common with those of the package.
var (
	NewCert  = newCert
	PEMOf    = pemOf
	PEMOfKey = pemOfKey
)

// Volume is a folder as the kubelet makes it for secrets.
type Volume = volume

// NewVolume returns a Volume with files.
func NewVolume(t *testing.T, files map[string][]byte) *Volume { return newVolume(t, files) }

// Path is the path of a file.
func (v *volume) Path(name string) string { return v.path(name) }

// Replace gives all files new contents at once.
func (v *volume) Replace(files map[string][]byte) { v.replace(files) }
