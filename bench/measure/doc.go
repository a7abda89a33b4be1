// Package measure counts what a program uses: CPU, memory, allocations.
//
//	m := measure.Start()
//	... what is measured ...
//	result := m.Stop()
package measure
