// Package apiserver sends the same requests to kube-apiserver and to apitest, and compares what
// clients look at: status, reason and causes of errors, the headers that clients read, the
// structure of bodies, and how versions and UIDs relate to those of earlier answers.
//
// What is left different has a name, and the name has a row with the reason in apitest/README.md. A
// difference without a name fails the test, and so does a name behind which nothing differs any
// more.
//
// TestPlants asks whether the comparison would notice: it puts errors into what apitest shares with
// the client, one at a time.
package apiserver
