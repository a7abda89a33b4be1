package protocol

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/relist-go/relist/object"
)

// errNoVersion is reported for a list, an event or a bookmark without a resourceVersion, or with "0", which means any version.
var errNoVersion = errors.New("no resourceVersion")

// errOlder is wrapped by the error for a version that is older than the resume point.
var errOlder = errors.New("older than what was seen before")

// advance returns the new resume point after something at version has come. If the resume point has to stay, it returns the old one
// and an error that says why.
//
// If the resume point is not a number, every version is taken. If the resume point is a number and the version is not, that is an
// error.
func advance(resume, version string) (string, error) {
	if object.Any(version) {
		return resume, errNoVersion
	}
	if !object.Ordered(resume) {
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
