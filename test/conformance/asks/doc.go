// Package asks has a real kube-apiserver asked for single objects, as a reflector does for
// those in quarantine: by a list with two more field selectors. The answers must repair,
// delete and fence as the documentation says, for every kind of resource and of name, and a
// user who may list and watch, and not get, needs no further right.
package asks
