// Package lease kills and stops the leader of two processes on a real kube-apiserver. It has tests
// only.
//
//	go test ./conformance/lease -v                  # 5 rounds
//	go test ./conformance/lease -v -rounds=60 -timeout=0
package lease
