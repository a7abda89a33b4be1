// Package measure counts what a program uses: CPU, memory, allocations.
//
//	m := measure.Start()
//	... what is measured ...
//	m.Stop(&result)
package measure
