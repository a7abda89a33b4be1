// Package cases is what is measured, written once for both programs: each hands in a
// [Client], and all else is the same.
//
// Begin with [All], the list, and [Main], which a program calls.
package cases
