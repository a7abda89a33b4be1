// Package micro has benchmarks of the queue and of the store beside those of client-go, and of lists in JSON beside lists in CBOR.
//
//	make bench-micro
//
// The last part of a name is the implementation, so that benchstat puts them side by side:
//
//	go test -bench . -count 6 ./micro >/tmp/micro.txt && go tool benchstat -col /impl /tmp/micro.txt
package micro
