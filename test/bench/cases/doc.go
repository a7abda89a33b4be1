// Package cases contains the measurements. Both programs run the same code; each
// passes its own [Client].
//
// Begin with [All], the list, and [Main], which a program calls.
package cases
