// Package kubectl runs one script of kubectl commands, unchanged, against apitest
// and against the real API server, and compares what is printed. There is
// no list of expected output: the real server's is the expectation.
package kubectl
