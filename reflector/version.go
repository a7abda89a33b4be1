package reflector

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// errNoVersion is reported for a list, an event or a bookmark without a
// resourceVersion, or with "0", which stands for any.
var errNoVersion = errors.New("no resourceVersion")

// advance returns the resume point after something at version arrived, or why
// it stays where it is.
//
// Versions are compared as decimal numbers of any length. A server whose
// versions are not numbers can only be followed; one that mixes both is wrong.
// Source: https://github.com/kubernetes/enhancements/issues/5504
func advance(resume, version string) (string, error) {
	if unanchored(version) {
		return resume, errNoVersion
	}
	if !wellFormed(resume) {
		return version, nil // nothing to compare with
	}
	order, err := resourceversion.CompareResourceVersion(version, resume)
	if err != nil {
		return resume, err
	}
	if order < 0 {
		return resume, fmt.Errorf("resourceVersion %s is %w, %s", version, errOlder, resume)
	}
	return version, nil
}

// errOlder is in the errors for what is older than the resume point.
var errOlder = errors.New("older than what was seen before")

// older reports whether a version is known to lie before another.
func older(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}

// wellFormed reports whether version is a decimal number other than zero.
func wellFormed(version string) bool {
	_, err := resourceversion.CompareResourceVersion(version, version)
	return err == nil
}

// unanchored reports whether a watch at version starts from whatever the server
// holds, so that what was deleted before it opened is never told.
func unanchored(version string) bool { return version == "" || version == "0" }
