package apiserver

import "regexp"

// known are the differences that stay. The name of each has a row with the reason in docs/apitest.md. The pattern is that of a
// section and a request; everything that matches has to differ.
var known = []struct {
	name    string
	pattern *regexp.Regexp
}{}

// knownDifference returns the name of the difference that a request is known to have, or "".
func knownDifference(section string, r request) string {
	text := section + ": " + r.method + " " + r.path + " " + r.body
	for _, h := range r.header {
		text += " [" + h + "]"
	}
	for _, k := range known {
		if k.pattern.MatchString(text) {
			return k.name
		}
	}
	return ""
}
