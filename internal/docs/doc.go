// Package docs has the tests of the repository's pages: that links lead somewhere, that programs
// and traces in them are those that run, that tables name tests and declarations that exist, and
// that workflows run what the Makefile has. Every path in these tests begins at the root of the
// repository.
package docs
