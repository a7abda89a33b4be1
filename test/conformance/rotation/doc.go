// Package rotation has what credentials do in earnest: a server with TLS on loopback, real
// time, real files and real programs, for a minute.
//
// The same in no time, and over both versions of HTTP, is TestRotation in package
// transport.
package rotation
