package object

import "k8s.io/apimachinery/pkg/util/resourceversion"

// Older reports whether version is known to come before than. It is false if either is not a decimal number, because
// nothing is known of their order then.
//
// Versions are decimal numbers of any length, and they are comparable within one history of one server.
// Source: https://github.com/kubernetes/enhancements/issues/5504
func Older(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}

// Newer returns the newer of two versions. A version that is not a decimal number is no candidate; if neither is a
// number, a is returned.
func Newer(a, b string) string {
	if !Ordered(a) && Ordered(b) || Older(a, b) {
		return b
	}
	return a
}

// Ordered reports whether version is a decimal number other than zero, so that others can be compared with it.
func Ordered(version string) bool {
	_, err := resourceversion.CompareResourceVersion(version, version)
	return err == nil
}

// Any reports whether version is one that a server understands as "any": empty, or "0". Nothing can be watched from it
// without a gap.
func Any(version string) bool { return version == "" || version == "0" }
