// Package child says how tests start a program that is to end with them.
package child
