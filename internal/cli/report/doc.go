// Package report says what a mirror does, for people and for programs: a line for
// each thing that happens, as readable text or as one JSON object.
//
// A line is a struct: its JSON tags are the format for programs, its Text method the
// one for people. A Printer writes them out as fast as the output takes them, and each
// at once while nothing else happens.
//
// Begin with Printer and Line.
package report
