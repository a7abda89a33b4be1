package protocol

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/relist-go/relist/object"
)

// errNoVersion is reported for a list, an event or a bookmark without a resourceVersion, or with "0", which stands for any.
var errNoVersion = errors.New("no resourceVersion")

// errOlder is in the errors for what is older than the resume point.
var errOlder = errors.New("older than what was seen before")

// advance returns the resume point after something at version arrived, or why it stays where it is.
//
// A server whose versions are not numbers can only be followed. One that mixes both is wrong.
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
