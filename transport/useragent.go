package transport

import (
	"runtime"
	"runtime/debug"
	"strings"
)

const (
	modulePath = "github.com/relist-go/relist"
	// fallbackVersion is used when the build says nothing, as in the tests of this
	// module itself.
	fallbackVersion = "0.1.0-devel"
)

// defaultUserAgent names relist and its version, so that an operator who finds it
// in an audit log knows what to look at.
func defaultUserAgent() string {
	info, _ := debug.ReadBuildInfo()
	return "relist/" + versionIn(info) + " (" + runtime.GOOS + "/" + runtime.GOARCH + ")"
}

// versionIn finds the version of this module in a program, as itself or as a
// dependency. A replaced dependency has that of its replacement.
func versionIn(info *debug.BuildInfo) string {
	if info == nil {
		return fallbackVersion
	}
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Path != modulePath {
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		if m.Version != "" && m.Version != "(devel)" {
			return strings.TrimPrefix(m.Version, "v")
		}
	}
	return fallbackVersion
}
