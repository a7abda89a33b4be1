// Package clientgo tries client-go's informers, unchanged, against apitest and
// against the real API server. What holds for one has to hold for the other: a
// client that is not ours must find nothing odd in our server, and these tests
// must find nothing odd in the real one.
package clientgo
