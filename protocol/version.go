package protocol

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/relist-go/relist/object"
)

// errNoVersion is reported for a list, an event or a bookmark without a resourceVersion, or with
// "0", which means any version.
var errNoVersion = errors.New("no resourceVersion")

// errOlder is wrapped by the error for a version that is older than the resume version.
var errOlder = errors.New("older than what was seen before")

// advance returns the new resume version after something at version has come. If the resume version
// has to stay, it returns the old one and an error that says why.
//
// If the resume version is not a number, every version is taken. If the resume version is a number
// and the version is not, that is an error.
func advance(resume, version string) (string, error) {
	if object.IsAnyVersion(version) {
		return resume, errNoVersion
	}
	if !object.IsComparable(resume) {
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

// moveResume moves the resume version, and removes the refetch versions that it has reached.
func (m *Machine) moveResume(to string) {
	m.resume = to
	m.quarantine.reached(to)
}

// floor returns the highest of the resume version and all refetch versions. No list may be older
// than this version, because the sink already has a list, an event or an answer of this version.
func (m *Machine) floor() string { return m.quarantine.furthest(m.resume) }
