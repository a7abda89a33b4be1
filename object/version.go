package object

import "k8s.io/apimachinery/pkg/util/resourceversion"

// Older reports whether version is known to come before than. If one of them is not a decimal
// number, their order is not known, and Older returns false.
//
// Versions are decimal numbers of any length. Two versions can be compared if they are of one
// server and one history. Source: https://github.com/kubernetes/enhancements/issues/5504
func Older(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}

// Newer returns the newer of two versions. If only one of them is a decimal number, it returns that
// one. If neither is, it returns a.
func Newer(a, b string) string {
	if !IsComparable(a) && IsComparable(b) || Older(a, b) {
		return b
	}
	return a
}

// IsComparable reports whether version is a decimal number other than zero, so that others can be
// compared with it.
func IsComparable(version string) bool {
	_, err := resourceversion.CompareResourceVersion(version, version)
	return err == nil
}

// IsAnyVersion reports whether version is empty or "0": neither names a state, so there is a gap
// before a watch from it.
func IsAnyVersion(version string) bool { return version == "" || version == "0" }
