// Package mutants asks whether the golden traces would notice. It breaks the
// library in many ways, one at a time, and runs the traces against each: the trace
// that is about what was broken has to fail.
//
// A [mutation] replaces text that has to be in a package exactly once, so that one that
// no longer fits says so. Nothing is copied or written: the go command is given an
// overlay. For each mutation, the command prints every trace that failed:
//
//	make mutants
package mutants
